//! `trawl du` against GNU du: the same lines, in any order.
