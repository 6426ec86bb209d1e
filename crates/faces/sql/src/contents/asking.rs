//! Evaluates a call about contents on rows of `entries`.

use std::any::Any;
use std::hash::{Hash, Hasher};
use std::num::NonZeroUsize;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use arrow::array::{
    Array, ArrayRef, AsArray, BinaryViewArray, BooleanArray, Float64Array, PrimitiveArray,
    StringViewArray,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int64Type, TimeUnit, TimestampNanosecondType, UInt64Type};
use datafusion::common::tree_node::TreeNode;
use datafusion::error::Result;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDFImpl, Signature, Volatility,
};
use trawl_find::questions::{OF_THEN, open_now, read};
use trawl_grams::{DocId, Identity, Stamp};
use trawl_keywords::{Document, Look, is_same_name};

use super::{Asking, COLUMNS};
use crate::catalog::Catalog;

/// One second.
const SECOND_NS: i64 = 1_000_000_000;

/// A call, as a function of the columns [`COLUMNS`].
#[derive(Debug)]
pub(super) struct Ask {
    /// The call, as EXPLAIN shows it. Different questions have different names.
    name: String,
    asking: Asking,
    catalog: Arc<Catalog>,
    threads: NonZeroUsize,
    signature: Signature,
}

impl Ask {
    pub(super) fn new(
        name: String,
        asking: Asking,
        catalog: &Arc<Catalog>,
        threads: NonZeroUsize,
    ) -> Ask {
        Ask {
            name,
            asking,
            catalog: Arc::clone(catalog),
            threads,
            signature: Signature::any(COLUMNS.len(), Volatility::Stable),
        }
    }
}

// A statement has one catalogue.
impl PartialEq for Ask {
    fn eq(&self, other: &Ask) -> bool {
        self.name == other.name
    }
}

impl Eq for Ask {}

impl Hash for Ask {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

/// Returns the call, if an expression is one.
fn ask_of(expr: &Expr) -> Option<&Ask> {
    let Expr::ScalarFunction(call) = expr else {
        return None;
    };
    let inner: &dyn Any = &**call.func.inner();
    inner.downcast_ref()
}

/// Returns true if an expression contains a call about contents.
pub(crate) fn is_about_contents(expr: &Expr) -> bool {
    // The visitor does not fail.
    expr.exists(|inner| Ok(ask_of(inner).is_some()))
        .unwrap_or(true)
}

/// Returns true for a call that only regular files pass.
pub(crate) fn is_test(expr: &Expr) -> bool {
    ask_of(expr).is_some_and(|ask| matches!(ask.asking, Asking::Test(_)))
}

/// The answer about a row; `None` is null.
type Answer = Option<Value>;

#[derive(Clone, Debug)]
enum Value {
    Truth(bool),
    Text(String),
    Score(f32),
}

/// The answer about a row, or the document that must be read for it.
enum Known {
    Answer(Answer),
    /// The document with this identity must be read.
    Unread(DocId),
}

impl Ask {
    /// Answers about all rows. Files are read on all threads.
    fn answers(&self, rows: &Rows<'_>) -> Result<Vec<Answer>> {
        let known = (0..rows.len()).map(|at| self.look(rows, at));
        let mut answers = Vec::with_capacity(rows.len());
        let mut unread = Vec::new();
        for (at, known) in known.enumerate() {
            match known {
                Known::Answer(answer) => answers.push(answer),
                Known::Unread(id) => {
                    unread.push((at, id));
                    answers.push(None);
                }
            }
        }
        let read = on_threads(self.threads, &unread, |(at, id)| self.read(rows, *at, *id));
        for ((at, _), answer) in unread.iter().zip(read) {
            answers[*at] = answer?;
        }
        Ok(answers)
    }

    fn look(&self, rows: &Rows<'_>, at: usize) -> Known {
        let no = match self.asking {
            Asking::Test(_) => Some(Value::Truth(false)),
            Asking::Values(..) => None,
            Asking::Score(_) => Some(Value::Score(0.0)),
        };
        if rows.kind.is_null(at) {
            return Known::Answer(None);
        }
        if rows.kind.value(at) != "f" {
            return Known::Answer(no);
        }
        let contents = self.catalog.contents();
        let id = contents.id(&rows.identity(at), name_of(rows.path(at)));
        let look = self.asking.asked().look(contents, id);
        match (look, &self.asking) {
            // A test beside this call may have read the file.
            (Look::Unread, Asking::Score(asked)) => match asked.score_read(id) {
                Some(score) => Known::Answer(Some(Value::Score(score))),
                None => Known::Unread(id),
            },
            (Look::Unread, _) | (Look::Matches, Asking::Values(..)) => Known::Unread(id),
            (Look::Matches, Asking::Score(asked)) => {
                Known::Answer(Some(Value::Score(asked.score(contents, id))))
            }
            (look, _) => Known::Answer(self.told(look, no, rows.path(at))),
        }
    }

    /// Returns the answer that a look gives. If it does not decide, this is noted.
    fn told(&self, look: Look, no: Answer, path: &[u8]) -> Answer {
        match look {
            Look::Matches => Some(Value::Truth(true)),
            Look::Differs => no,
            Look::Undecided(gap) => {
                self.catalog.unread(path, gap.reason().into());
                None
            }
            Look::Unread => None,
        }
    }

    /// Reads the file of a row now.
    fn read(&self, rows: &Rows<'_>, at: usize, id: DocId) -> Result<Answer> {
        let path = rows.path(at);
        let (source, snapshot) = (rows.source.value(at), rows.snapshot.value(at));
        let is_of_now = self.catalog.is_of_now(source, snapshot, path);
        if !is_of_now.map_err(crate::scan::external)? {
            not_of_now(&self.catalog, path);
            return Ok(None);
        }
        let Some(document) = document_now(&self.catalog, path) else {
            return Ok(None);
        };
        let look = self
            .asking
            .asked()
            .judge(self.catalog.contents(), id, &document);
        Ok(match &self.asking {
            Asking::Test(_) => self.told(look, Some(Value::Truth(false)), path),
            Asking::Values(name, _) => {
                let told = self.told(look, None, path);
                told.map(|_| Value::Text(values_of(name, &document)))
            }
            Asking::Score(asked) => match look {
                Look::Matches => Some(Value::Score(asked.score(self.catalog.contents(), id))),
                look => self.told(look, Some(Value::Score(0.0)), path),
            },
        })
    }
}

/// Reads the document of the file with this stored path now. If that is not possible, it is noted.
pub(crate) fn document_now(catalog: &Catalog, path: &[u8]) -> Option<Document> {
    let opened = open_now(path);
    let document = opened.and_then(|file| read(file, catalog.contents(), name_of(path)));
    document.map_err(|cause| catalog.unread(path, cause.0)).ok()
}

/// Notes that the content that a row is about is not there any more.
pub(crate) fn not_of_now(catalog: &Catalog, path: &[u8]) {
    catalog.unread(path, OF_THEN.into());
}

/// Returns the values of an attribute, with `, ` between them.
fn values_of(name: &str, document: &Document) -> String {
    let values = document.values().into_iter();
    let its = values.filter(|(other, _)| is_same_name(name, other));
    let texts: Vec<String> = its.map(|(_, value)| value.to_string()).collect();
    texts.join(", ")
}

fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|byte| *byte == b'/').next().unwrap_or(path)
}

/// Calls `work` for all items on several threads, and returns the results in order.
fn on_threads<I: Sync, R: Send>(
    threads: NonZeroUsize,
    items: &[I],
    work: impl Fn(&I) -> R + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let worker = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return done;
            };
            done.push((at, work(item)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let others = (1..threads.get().min(items.len())).filter_map(|_| {
            // Without another thread, the others do its work.
            std::thread::Builder::new().spawn_scoped(scope, worker).ok()
        });
        let others: Vec<_> = others.collect();
        let mut done = worker();
        for other in others {
            done.extend(other.join().unwrap_or_else(|cause| resume_unwind(cause)));
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The columns of rows.
struct Rows<'a> {
    path: &'a StringViewArray,
    path_raw: &'a BinaryViewArray,
    kind: &'a StringViewArray,
    dev: &'a PrimitiveArray<UInt64Type>,
    ino: &'a PrimitiveArray<UInt64Type>,
    size: &'a PrimitiveArray<Int64Type>,
    mtime: &'a PrimitiveArray<TimestampNanosecondType>,
    ctime: &'a PrimitiveArray<TimestampNanosecondType>,
    source: &'a StringViewArray,
    snapshot: &'a StringViewArray,
}

/// Returns the types of the columns, in their order.
fn types() -> [DataType; COLUMNS.len()] {
    let time = || DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let text = || DataType::Utf8View;
    [
        text(),
        DataType::BinaryView,
        text(),
        DataType::UInt64,
        DataType::UInt64,
        DataType::Int64,
        time(),
        time(),
        text(),
        text(),
    ]
}

impl<'a> Rows<'a> {
    /// Returns the rows of these columns, which have the types above.
    fn of(columns: &'a [ArrayRef]) -> Option<Rows<'a>> {
        let [
            path,
            path_raw,
            kind,
            dev,
            ino,
            size,
            mtime,
            ctime,
            source,
            snapshot,
        ] = columns
        else {
            return None;
        };
        Some(Rows {
            path: path.as_string_view_opt()?,
            path_raw: path_raw.as_binary_view_opt()?,
            kind: kind.as_string_view_opt()?,
            dev: dev.as_primitive_opt()?,
            ino: ino.as_primitive_opt()?,
            size: size.as_primitive_opt()?,
            mtime: mtime.as_primitive_opt()?,
            ctime: ctime.as_primitive_opt()?,
            source: source.as_string_view_opt()?,
            snapshot: snapshot.as_string_view_opt()?,
        })
    }

    fn len(&self) -> usize {
        self.kind.len()
    }

    /// Returns the path as stored. Its text is escaped only if the bytes are given as well.
    fn path(&self, at: usize) -> &'a [u8] {
        match self.path_raw.is_valid(at) {
            true => self.path_raw.value(at),
            false => self.path.value(at).as_bytes(),
        }
    }

    fn identity(&self, at: usize) -> Identity {
        let stamp = |time_ns: i64| Stamp {
            secs: time_ns.div_euclid(SECOND_NS),
            nanos: time_ns.rem_euclid(SECOND_NS) as u32,
        };
        Identity {
            dev: self.dev.value(at),
            ino: self.ino.value(at),
            size_bytes: u64::try_from(self.size.value(at)).unwrap_or_default(),
            mtime: stamp(self.mtime.value(at)),
            ctime: stamp(self.ctime.value(at)),
        }
    }
}

impl ScalarUDFImpl for Ask {
    fn name(&self) -> &str {
        &self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.asking {
            Asking::Test(_) => DataType::Boolean,
            Asking::Values(..) => DataType::Utf8View,
            Asking::Score(_) => DataType::Float64,
        })
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let given = args.args.into_iter();
        let arrays = given.zip(types()).map(|(column, kind)| {
            let array = column.into_array(args.number_rows)?;
            Ok(cast(&array, &kind)?)
        });
        let arrays: Vec<ArrayRef> = arrays.collect::<Result<_>>()?;
        let Some(rows) = Rows::of(&arrays) else {
            return datafusion::common::exec_err!("{} has other arguments", self.name);
        };
        let answers = self.answers(&rows)?.into_iter();
        Ok(ColumnarValue::Array(match self.asking {
            Asking::Test(_) => {
                let truths = answers.map(|answer| match answer {
                    Some(Value::Truth(is_true)) => Some(is_true),
                    _ => None,
                });
                Arc::new(truths.collect::<BooleanArray>())
            }
            Asking::Values(..) => {
                let texts = answers.map(|answer| match answer {
                    Some(Value::Text(text)) => Some(text),
                    _ => None,
                });
                Arc::new(texts.collect::<StringViewArray>())
            }
            Asking::Score(_) => {
                let scores = answers.map(|answer| match answer {
                    Some(Value::Score(score)) => Some(f64::from(score)),
                    _ => None,
                });
                Arc::new(scores.collect::<Float64Array>())
            }
        }))
    }
}
