//! The program from the outside: its output, messages and exit codes, in temporary directories of
//! its own. The GNU tools are the oracles.

#![forbid(unsafe_code)]

mod answers;
mod arrow_streams;
mod attr;
mod attributes;
mod du;
mod find_access;
mod find_actions;
mod find_live;
mod find_names;
mod find_words;
mod find_xattr_indices;
mod front_door;

mod beyond;
mod bundle;
mod check;
mod checkpoints;
mod completions;
mod find_content_indices;
mod find_hooks;
mod find_indices;
mod find_keywords;
mod find_keywords_watched;
mod golden;
mod grep;
mod grep_text;
mod grep_watched;
mod handing_over;
mod id_map;
mod index;
mod indexes;
mod left_out;
mod locate;
mod ls;
mod machines;
mod mounts;
mod own_profile;
mod pack;
mod power_cut;
mod profile;
mod profile_detail;
mod profile_file_system;
mod profile_parquet;
mod profile_peers;
mod profile_protobuf;
mod quota;
mod recovery;
mod remote;
mod revoked;
mod search;
mod set;
mod shared;
mod site;
mod stat;
mod terminal;
mod token;
mod top;
mod users;
mod watch;
