//! Runs `trawl export`: writes everything that this user may see to files for other programs, or sends
//! the files to a client on another machine.

use std::ffi::OsStr;
use std::io;
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use arrow::array::RecordBatch;
use serde_json::json;
use trawl_cli::exit::Exit;
use trawl_cli::export::{ABOUT, Destination, Progress, Sent, part_name};
use trawl_cli::sql::{ExportArgs, ExportTable, Format, Order};
use trawl_model::escape::escape;
use trawl_model::filter::Filter;
use trawl_model::path;

use crate::ask::{Status, tell, threads};
use crate::catalog::{Catalog, Edition, Read};
use crate::error::{Result, SqlError};
use crate::output::{Cells, Form, Sink, Writer};
use crate::scan::leave_to_nearer;
use crate::tables::{Job, Reach, Table, Target};

/// Runs the command.
pub(crate) fn run(order: &Order, args: &ExportArgs) -> Result<Exit> {
    let (format, dir) = args.wanted()?;
    let place = match order.is_sent {
        true => Place::Client,
        false => Place::Here(Destination::make(dir, args.force)?),
    };
    let catalog = Catalog::open(&order.indexes, order.as_of)?;
    let targets = targets(&catalog, args)?;
    let cancel =
        trawl_sys::signal::watch_interrupts().unwrap_or_else(|_| trawl_sys::signal::interrupted());
    let mut export = Export {
        place: &place,
        format,
        cells: Cells::of(order.spreadsheet),
        catalog: &catalog,
        targets: &targets,
        threads: args.threads.unwrap_or_else(threads),
        part_rows: args.part_rows.get(),
        cancel,
        progress: Progress::new(),
    };
    let mut about = Vec::new();
    for table in tables(args) {
        about.push(export.table(table)?);
    }
    export.progress.end();
    write_about(&place, format, &catalog, &about)?;
    if let Place::Here(destination) = place {
        destination.publish()?;
    }
    Ok(tell(&catalog.told(), Status::of(order)))
}

/// The tables of the engine, in the order of [`ExportTable::ALL`].
const EXPORTED: [Table; 8] = [
    Table::Entries,
    Table::Dirs,
    Table::Xattrs,
    Table::Attributes,
    Table::FileGroups,
    Table::GroupMembers,
    Table::Relations,
    Table::Issues,
];

fn tables(args: &ExportArgs) -> Vec<Table> {
    let wanted = args.wanted_tables();
    let all = ExportTable::ALL.iter().zip(EXPORTED);
    let wanted = all.filter(|(name, _)| wanted.contains(name));
    wanted.map(|(_, table)| table).collect()
}

/// Returns the parts to export: all sources, or everything at and below the given paths.
fn targets(catalog: &Catalog, args: &ExportArgs) -> Result<Vec<Target>> {
    let mut targets = Vec::new();
    catalog.check_any()?;
    if args.paths.is_empty() {
        for (root, why) in catalog.lacking()? {
            catalog.unseen(&root, why);
        }
        for edition in catalog.chosen()? {
            let root = edition.info.root.clone();
            targets.extend(start_in(catalog, edition, &root)?);
        }
        leave_to_nearer(catalog.chosen()?, &mut targets);
        return Ok(targets);
    }
    for given in &args.paths {
        let wanted = absolute(given)?;
        let within = |edition: &&Arc<Edition>| path::is_within(&wanted, &edition.info.root);
        let nearest = catalog.chosen()?.iter().filter(within);
        let found = match nearest.max_by_key(|edition| edition.info.root.len()) {
            Some(edition) => start_in(catalog, edition, &wanted)?,
            None => catalog.hidden_start(&wanted)?.map(whole),
        };
        targets.push(found.ok_or_else(|| SqlError::NotThere {
            path: escape(path::display(&wanted)).into_owned(),
            why: "it is not in the index, or this user may not see it",
        })?);
    }
    let mut targets = without_doubles(targets);
    leave_to_nearer(catalog.chosen()?, &mut targets);
    Ok(targets)
}

fn start_in(catalog: &Catalog, edition: &Edition, wanted: &[u8]) -> Result<Option<Target>> {
    let Some(view) = catalog.view(edition)? else {
        return Ok(None);
    };
    catalog.note(&edition.info);
    Ok(catalog.start(&view, wanted)?.map(whole))
}

fn whole(start: trawl_query::Start) -> Target {
    let reach = if start.is_dir {
        Reach::Subtree
    } else {
        Reach::Itself
    };
    Target::new(start, reach)
}

/// Removes duplicates, so that nothing is exported twice.
fn without_doubles(mut targets: Vec<Target>) -> Vec<Target> {
    targets.sort_by(|a, b| path::cmp(&a.start.path, &b.start.path));
    targets.dedup_by(|later, first| path::is_within(&later.start.path, &first.start.path));
    targets
}

fn absolute(given: &OsStr) -> Result<Vec<u8>> {
    let failed = |source| SqlError::File {
        action: "resolve",
        path: given.into(),
        source,
    };
    let whole = std::path::absolute(given).map_err(failed)?;
    // An existing path is named as the kernel names it; another one is made absolute by text.
    let real = whole.canonicalize().unwrap_or(whole);
    path::normalize(real.as_os_str().as_bytes())
        .ok_or_else(|| failed(io::Error::from(io::ErrorKind::InvalidInput)))
}

/// Where files are written to.
enum Place {
    /// A directory on this machine.
    Here(Destination),
    /// A client on another machine.
    Client,
}

impl Place {
    /// Begins the file with this name.
    fn file(&self, name: String) -> Result<Sink> {
        match self {
            Place::Here(destination) => Sink::file(&destination.part().join(name)),
            Place::Client => Ok(Sink::client(Sent::new(name))),
        }
    }
}

/// An export in progress.
struct Export<'a> {
    place: &'a Place,
    format: Format,
    cells: Cells,
    catalog: &'a Catalog,
    targets: &'a [Target],
    threads: NonZeroUsize,
    part_rows: usize,
    cancel: &'static AtomicBool,
    progress: Progress,
}

impl Export<'_> {
    fn table(&mut self, table: Table) -> Result<serde_json::Value> {
        let name = table.info().name;
        if let Place::Here(destination) = self.place {
            destination.make_table(name)?;
        }
        let schema = table.schema();
        let columns: Vec<usize> = (0..schema.fields().len()).collect();
        let filter = Filter::default();
        let job = Job {
            catalog: self.catalog,
            columns: &columns,
            targets: self.targets,
            editions: &[],
            filter: &filter,
            names: None,
            threads: self.threads,
            cancel: self.cancel,
        };
        let mut parts = Parts {
            place: self.place,
            name,
            format: self.format,
            cells: self.cells,
            part_rows: self.part_rows,
            open: None,
            parts: 0,
            rows: 0,
        };
        let progress = &mut self.progress;
        let mut failed = Ok(());
        table.produce(&job, &mut |batch| {
            failed = parts.put(&batch);
            progress.show(|| format!("{name}: {} rows", parts.rows));
            match failed {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        failed?;
        parts.close(table)?;
        if let Place::Here(destination) = self.place {
            destination.sync_table(name)?;
        }
        Ok(json!({ "table": name, "rows": parts.rows, "parts": parts.parts }))
    }
}

/// The files of one table.
struct Parts<'a> {
    place: &'a Place,
    /// The name of the table.
    name: &'a str,
    format: Format,
    cells: Cells,
    part_rows: usize,
    /// The part that is being written, and its rows so far.
    open: Option<(Writer, usize)>,
    parts: u64,
    rows: u64,
}

impl Parts<'_> {
    fn put(&mut self, batch: &RecordBatch) -> Result<()> {
        let mut from = 0;
        while from < batch.num_rows() {
            let (mut writer, written) = match self.open.take() {
                Some(open) => open,
                None => (self.next(batch)?, 0),
            };
            let rows = (batch.num_rows() - from).min(self.part_rows - written);
            writer.write(&batch.slice(from, rows))?;
            from += rows;
            self.rows += rows as u64;
            match written + rows >= self.part_rows {
                true => writer.finish()?,
                false => self.open = Some((writer, written + rows)),
            }
        }
        Ok(())
    }

    fn next(&mut self, batch: &RecordBatch) -> Result<Writer> {
        self.begin(&batch.schema())
    }

    fn begin(&mut self, schema: &arrow::datatypes::SchemaRef) -> Result<Writer> {
        self.parts += 1;
        let part = part_name(self.parts, self.format);
        let sink = self.place.file(format!("{}/{part}", self.name))?;
        Writer::to((Form::Named(self.format), self.cells), schema, sink)
    }

    /// Finishes the last part. Even an empty table has a file, which shows its columns.
    fn close(&mut self, table: Table) -> Result<()> {
        match self.open.take() {
            Some((writer, _)) => writer.finish(),
            None if self.parts == 0 => self.begin(&table.schema())?.finish(),
            None => Ok(()),
        }
    }
}

fn write_about(
    place: &Place,
    format: Format,
    catalog: &Catalog,
    tables: &[serde_json::Value],
) -> Result<()> {
    let told = catalog.told();
    // The remarks are noted again, since they are reported at the end, too.
    for read in &told.read {
        catalog.note(&read.info);
    }
    for (path, why) in &told.unseen {
        catalog.unseen(path, why.clone());
    }
    for (path, why) in &told.unread {
        catalog.unread(path, why.clone());
    }
    let sources = told.read.iter().map(|Read { info, .. }| {
        json!({
            "source": escape(path::display(&info.root)),
            "snapshot": info.id.to_string(),
            "as_of": trawl_text::json::rfc3339(info.started),
        })
    });
    let about = json!({
        "trawl": env!("CARGO_PKG_VERSION"),
        "format": format!("{format:?}").to_lowercase(),
        "sources": sources.collect::<Vec<_>>(),
        "tables": tables,
    });
    let mut file = place.file(ABOUT.into())?;
    file.put(format!("{about}\n").as_bytes())?;
    file.finish()
}
