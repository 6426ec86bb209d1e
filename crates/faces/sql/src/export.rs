//! Runs `trawl export`: writes everything that this user may see to files for other programs.
//!
//! The files are written to a new directory beside the requested one. It gets its name when all
//! files are complete and on disk, so an export either exists as a whole or not at all. An earlier
//! export is exchanged for the new one in one step.

use std::ffi::OsStr;
use std::io::{self, IsTerminal, Write};
use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

use arrow::array::RecordBatch;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::json;
use trawl_cli::exit::Exit;
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

/// The file that describes an export; its presence shows that a directory is one.
const ABOUT: &str = "export.json";
/// Interval at which progress is shown.
const SHOWN_EVERY: Duration = Duration::from_millis(200);

/// Runs the command.
pub(crate) fn run(order: &Order, args: &ExportArgs) -> Result<Exit> {
    let (format, dir) = wanted(args)?;
    let place = Destination::make(dir, args.force)?;
    let catalog = Catalog::open(&order.indexes, order.as_of)?;
    let targets = targets(&catalog, args)?;
    let cancel =
        trawl_sys::signal::watch_interrupts().unwrap_or_else(|_| trawl_sys::signal::interrupted());
    let mut export = Export {
        dir: place.part.clone(),
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
    write_about(&place.part, format, &catalog, &about)?;
    place.publish()?;
    Ok(tell(&catalog.told(), Status::of(order)))
}

fn wanted(args: &ExportArgs) -> Result<(Format, &Path)> {
    let parquet = args.parquet.as_deref().map(|dir| (Format::Parquet, dir));
    let csv = args.csv.as_deref().map(|dir| (Format::Csv, dir));
    let json = args.json.as_deref().map(|dir| (Format::Json, dir));
    let wanted = parquet.or(csv).or(json);
    wanted.ok_or_else(|| {
        SqlError::Usage("no destination given: use --parquet, --csv or --json DIR".into())
    })
}

/// The tables, in the order in which they are written.
const EXPORTED: [(ExportTable, Table); 8] = [
    (ExportTable::Entries, Table::Entries),
    (ExportTable::Dirs, Table::Dirs),
    (ExportTable::Xattrs, Table::Xattrs),
    (ExportTable::Attributes, Table::Attributes),
    (ExportTable::FileGroups, Table::FileGroups),
    (ExportTable::GroupMembers, Table::GroupMembers),
    (ExportTable::Relations, Table::Relations),
    (ExportTable::Issues, Table::Issues),
];

fn tables(args: &ExportArgs) -> Vec<Table> {
    let is_wanted = |(name, table): &&(ExportTable, Table)| match args.tables.is_empty() {
        true => !table.is_computed(),
        false => args.tables.contains(name),
    };
    EXPORTED
        .iter()
        .filter(is_wanted)
        .map(|(_, table)| *table)
        .collect()
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

/// An export in progress.
struct Export<'a> {
    dir: PathBuf,
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
        let dir = self.dir.join(name);
        make_dir(&dir)?;
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
            dir: &dir,
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
            progress.show(name, parts.rows);
            match failed {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        failed?;
        parts.close(table)?;
        sync_dir(&dir)?;
        Ok(json!({ "table": name, "rows": parts.rows, "parts": parts.parts }))
    }
}

/// The files of one table.
struct Parts<'a> {
    dir: &'a Path,
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
        let end = match self.format {
            Format::Csv => "csv",
            Format::Json => "jsonl",
            _ => "parquet",
        };
        self.parts += 1;
        let path = self.dir.join(format!("part-{:05}.{end}", self.parts));
        Writer::to(
            (Form::Named(self.format), self.cells),
            schema,
            Sink::file(&path)?,
        )
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
    dir: &Path,
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
    let path = dir.join(ABOUT);
    let failed = |source| SqlError::File {
        action: "write",
        path: path.clone(),
        source,
    };
    let mut file = std::fs::File::create_new(&path).map_err(failed)?;
    writeln!(file, "{about}")
        .and_then(|()| file.sync_all())
        .map_err(failed)
}

/// The destination of an export.
struct Destination {
    /// The requested directory.
    dir: PathBuf,
    /// The directory that is written to.
    part: PathBuf,
    /// Whether an earlier export exists.
    replaces: bool,
}

impl Destination {
    fn make(dir: &Path, force: bool) -> Result<Destination> {
        let dir = std::path::absolute(dir).map_err(|source| file_error("write", dir, source))?;
        let exists = dir.symlink_metadata().is_ok();
        if exists && !force {
            return Err(SqlError::Usage(format!(
                "{} already exists; --force replaces an earlier export",
                dir.display()
            )));
        }
        if exists && !dir.join(ABOUT).is_file() {
            return Err(SqlError::Usage(format!(
                "{} is not an export, and is left alone",
                dir.display()
            )));
        }
        let mut name = dir.file_name().map(ToOwned::to_owned).unwrap_or_default();
        name.push(format!(".part-{}", std::process::id()));
        let part = dir.with_file_name(name);
        make_dir(&part)?;
        Ok(Destination {
            dir,
            part,
            replaces: exists,
        })
    }

    /// Gives the directory its name.
    fn publish(self) -> Result<()> {
        sync_dir(&self.part)?;
        let flags = match self.replaces {
            true => RenameFlags::EXCHANGE,
            false => RenameFlags::NOREPLACE,
        };
        renameat_with(CWD, &self.part, CWD, &self.dir, flags)
            .map_err(|error| file_error("rename to", &self.dir, error.into()))?;
        sync_dir(self.dir.parent().unwrap_or(Path::new("/")))
        // An earlier export now has the other name and is removed on drop.
    }
}

impl Drop for Destination {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.part);
    }
}

fn make_dir(dir: &Path) -> Result<()> {
    // File names and sizes are private to the owner.
    let made = std::fs::DirBuilder::new().mode(0o700).create(dir);
    made.map_err(|source| file_error("make", dir, source))
}

fn sync_dir(dir: &Path) -> Result<()> {
    let synced = std::fs::File::open(dir).and_then(|dir| dir.sync_all());
    synced.map_err(|source| file_error("sync", dir, source))
}

fn file_error(action: &'static str, path: &Path, source: io::Error) -> SqlError {
    SqlError::File {
        action,
        path: path.to_owned(),
        source,
    }
}

/// Progress display on a terminal.
struct Progress {
    is_watched: bool,
    shown: Instant,
    is_open: bool,
}

impl Progress {
    fn new() -> Progress {
        Progress {
            is_watched: io::stderr().is_terminal(),
            shown: Instant::now(),
            is_open: false,
        }
    }

    fn show(&mut self, table: &str, rows: u64) {
        if self.is_watched && self.shown.elapsed() >= SHOWN_EVERY {
            self.shown = Instant::now();
            self.is_open = true;
            let _ = write!(io::stderr(), "\r\x1b[K{table}: {rows} rows");
        }
    }

    fn end(&mut self) {
        if self.is_open {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
        self.is_open = false;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}
