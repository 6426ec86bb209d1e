//! Removes subtrees of a tree as long as the failure persists.

use super::access::Access;
use super::plan::{Kind, Plan};

/// Maximum number of trees built.
const ATTEMPTS: usize = 120;

/// Returns a smaller plan for which `fails` still returns a reason, and the last reason.
pub fn shrink(plan: &Plan, mut fails: impl FnMut(&Plan) -> Option<String>) -> (Plan, String) {
    let mut smallest = plan.clone();
    let mut why = String::new();
    let mut attempts = 0;
    loop {
        let before = smallest.nodes.len();
        // Folders first, and outer ones before inner ones: their removal removes most.
        let mut numbers: Vec<(bool, usize)> = smallest
            .nodes
            .iter()
            .map(|node| (node.kind != Kind::Folder, node.number))
            .collect();
        numbers.sort_unstable();
        for (_, number) in numbers {
            if smallest.path(number).is_none() {
                continue;
            }
            if attempts == ATTEMPTS {
                return (smallest, why);
            }
            attempts += 1;
            let candidate = smallest.without(number);
            if let Some(reason) = fails(&candidate) {
                (smallest, why) = (candidate, reason);
            }
        }
        if smallest.nodes.len() == before {
            return (smallest, why);
        }
    }
}

/// Describes the remaining plan for a message, one line per object.
pub fn describe(plan: &Plan) -> String {
    let mut text = format!("above {}\nroot {}\n", line(&plan.above), line(&plan.root));
    for node in plan.nodes.iter().take(40) {
        let path = plan.path(node.number).unwrap_or_default();
        text += &format!(
            "{} {:?} {} {} attributes\n",
            shown(&path),
            node.kind,
            line(&node.access),
            node.xattrs.len()
        );
    }
    text
}

fn line(access: &Access) -> String {
    let acl = |acl: &Option<Vec<u8>>| acl.as_deref().map(hex);
    let after = access.mode_after.map(|mode| format!("{mode:o}"));
    format!(
        "{:o} {}:{} acl {:?} then {after:?} default {:?}",
        access.mode,
        access.uid,
        access.gid,
        acl(&access.acl),
        acl(&access.default_acl)
    )
}

/// Returns a path with its long names shortened.
fn shown(path: &[u8]) -> String {
    let names = path.split(|byte| *byte == b'/');
    let cut = names.map(|name| name[..name.len().min(24)].escape_ascii().to_string());
    cut.collect::<Vec<_>>().join("/")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_culprit_is_left_with_what_holds_it() {
        let plan = Plan::new(1);
        let culprit = plan.nodes.iter().rev().find(|node| node.parent.is_some());
        let culprit = culprit.expect("a nested node").number;
        let fails = |plan: &Plan| plan.path(culprit).map(|_| String::from("still there"));
        let (smallest, why) = shrink(&plan, fails);
        assert_eq!(why, "still there");
        let holders = plan.path(culprit).unwrap_or_default();
        let depth = holders.iter().filter(|byte| **byte == b'/').count() + 1;
        assert_eq!(smallest.nodes.len(), depth);
    }
}
