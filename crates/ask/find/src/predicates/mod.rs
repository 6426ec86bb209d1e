//! The predicates, one file each; predicates that differ in a word share a
//! file.
//!
//! A file holds the predicate's row of the registry, the leaf that the
//! predicate becomes, and its tests. To add a predicate, write a file
//! (`links.rs` is a short example), name it here and list its row in
//! [`EVERY`]. The compiler warns of a row that is not listed.

pub(crate) mod acl;
pub(crate) mod amin;
pub(crate) mod anewer;
pub(crate) mod atime;
pub(crate) mod attr;
pub(crate) mod cmin;
pub(crate) mod cnewer;
pub(crate) mod constant;
pub(crate) mod context;
pub(crate) mod ctime;
pub(crate) mod daystart;
pub(crate) mod delete;
pub(crate) mod depth;
pub(crate) mod empty;
pub(crate) mod exclude;
pub(crate) mod exec;
pub(crate) mod execdir;
pub(crate) mod executable;
pub(crate) mod file_type;
pub(crate) mod files0_from;
pub(crate) mod fls;
pub(crate) mod follow;
pub(crate) mod fprint;
pub(crate) mod fprint0;
pub(crate) mod fprintf;
pub(crate) mod fstype;
pub(crate) mod gid;
pub(crate) mod group;
pub(crate) mod group_of;
pub(crate) mod ignore_readdir_race;
pub(crate) mod ilname;
pub(crate) mod iname;
pub(crate) mod inum;
pub(crate) mod ipath;
pub(crate) mod iregex;
pub(crate) mod json;
pub(crate) mod keyword;
pub(crate) mod limit;
pub(crate) mod links;
pub(crate) mod lname;
pub(crate) mod ls;
pub(crate) mod maxdepth;
pub(crate) mod mindepth;
pub(crate) mod mmin;
pub(crate) mod mtime;
pub(crate) mod name;
pub(crate) mod newer;
pub(crate) mod newer_xy;
pub(crate) mod nogroup;
pub(crate) mod noleaf;
pub(crate) mod nouser;
pub(crate) mod ok;
pub(crate) mod okdir;
pub(crate) mod operators;
pub(crate) mod path;
pub(crate) mod perm;
pub(crate) mod phrase;
pub(crate) mod print;
pub(crate) mod print0;
pub(crate) mod printf;
pub(crate) mod prune;
pub(crate) mod quit;
pub(crate) mod readable;
pub(crate) mod regex;
pub(crate) mod regextype;
pub(crate) mod related_to;
pub(crate) mod samefile;
pub(crate) mod size;
pub(crate) mod snippets;
pub(crate) mod sort;
pub(crate) mod uid;
pub(crate) mod unique;
pub(crate) mod used;
pub(crate) mod user;
pub(crate) mod warn;
pub(crate) mod writable;
pub(crate) mod xattr;
pub(crate) mod xattrname;
pub(crate) mod xdev;
pub(crate) mod xtype;

use crate::predicate::Predicate;

/// Every word of the language, in the order in which help shows them.
pub(crate) static EVERY: &[&Predicate] = &[
    // Operators.
    &operators::OPEN,
    &operators::CLOSE,
    &operators::NOT,
    &exclude::EXCLUDE,
    &operators::AND,
    &operators::OR,
    &operators::COMMA,
    // Options.
    &depth::DEPTH,
    &depth::D,
    &files0_from::FILES0_FROM,
    &ignore_readdir_race::IGNORE_READDIR_RACE,
    &ignore_readdir_race::NOIGNORE_READDIR_RACE,
    &maxdepth::MAXDEPTH,
    &mindepth::MINDEPTH,
    &noleaf::NOLEAF,
    &xdev::XDEV,
    &daystart::DAYSTART,
    &follow::FOLLOW,
    &regextype::REGEXTYPE,
    &related_to::RELATIONS,
    &warn::WARN,
    &warn::NOWARN,
    // Tests.
    &acl::ACL,
    &amin::AMIN,
    &anewer::ANEWER,
    &atime::ATIME,
    &attr::ATTR,
    &cmin::CMIN,
    &cnewer::CNEWER,
    &context::CONTEXT,
    &ctime::CTIME,
    &empty::EMPTY,
    &executable::EXECUTABLE,
    &constant::FALSE,
    &fstype::FSTYPE,
    &gid::GID,
    &group::GROUP,
    &group_of::GROUP_OF,
    &ilname::ILNAME,
    &group_of::IN_GROUP,
    &iname::INAME,
    &inum::INUM,
    &ipath::IPATH,
    &iregex::IREGEX,
    &keyword::KEYWORD,
    &links::LINKS,
    &lname::LNAME,
    &mmin::MMIN,
    &mtime::MTIME,
    &name::NAME,
    &newer::NEWER,
    &newer_xy::NEWER_XY,
    &nogroup::NOGROUP,
    &nouser::NOUSER,
    &path::PATH,
    &perm::PERM,
    &phrase::PHRASE,
    &readable::READABLE,
    &regex::REGEX,
    &related_to::RELATED_TO,
    &samefile::SAMEFILE,
    &size::SIZE,
    &constant::TRUE,
    &file_type::TYPE,
    &uid::UID,
    &unique::UNIQUE,
    &used::USED,
    &user::USER,
    &writable::WRITABLE,
    &xattr::XATTR,
    &xattrname::XATTRNAME,
    &xtype::XTYPE,
    // Actions.
    &delete::DELETE,
    &exec::EXEC,
    &execdir::EXECDIR,
    &fls::FLS,
    &fprint::FPRINT,
    &fprint0::FPRINT0,
    &fprintf::FPRINTF,
    &json::JSON,
    &limit::LIMIT,
    &ls::LS,
    &ok::OK,
    &okdir::OKDIR,
    &print::PRINT,
    &print0::PRINT0,
    &printf::PRINTF,
    &prune::PRUNE,
    &quit::QUIT,
    &snippets::SNIPPETS,
    &sort::SORT,
];
