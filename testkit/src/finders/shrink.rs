//! Finds the smallest command line and tree for which an answer is still wrong.

use super::case::Case;
use super::plan::Plan;

/// Maximum number of command lines tried.
const CASE_ATTEMPTS: usize = 250;
/// Maximum number of trees built.
const TREE_ATTEMPTS: usize = 150;

/// Returns a smaller command line for which `fails` is still true.
pub fn shrink_case(case: &Case, mut fails: impl FnMut(&Case) -> bool) -> Case {
    let mut smallest = case.clone();
    let mut attempts = 0;
    'again: loop {
        for candidate in smallest.smaller() {
            attempts += 1;
            if attempts > CASE_ATTEMPTS {
                return smallest;
            }
            if fails(&candidate) {
                smallest = candidate;
                continue 'again;
            }
        }
        return smallest;
    }
}

/// Returns a smaller tree for which `fails` is still true: without half of its entries, a quarter
/// and so on, then with plainer entries.
pub fn shrink_plan(plan: &Plan, mut fails: impl FnMut(&Plan) -> bool) -> Plan {
    let mut smallest = plan.clone();
    let mut attempts = 0;
    let mut tries = |candidate: &Plan| {
        attempts += 1;
        attempts <= TREE_ATTEMPTS && fails(candidate)
    };
    let mut count = smallest.nodes.len().div_ceil(2);
    while count > 0 {
        let before = smallest.nodes.len();
        // Outer entries come first, whose removal removes most.
        let numbers: Vec<usize> = smallest.nodes.iter().map(|node| node.number).collect();
        for some in numbers.chunks(count) {
            let candidate = smallest.without(some);
            if candidate.nodes.len() < smallest.nodes.len() && tries(&candidate) {
                smallest = candidate;
            }
        }
        let is_done = smallest.nodes.len() == before;
        count = if is_done {
            count / 2
        } else {
            count.min(smallest.nodes.len())
        };
    }
    for number in smallest
        .nodes
        .iter()
        .map(|node| node.number)
        .collect::<Vec<_>>()
    {
        if let Some(candidate) = smallest.plainer(number).filter(&mut tries) {
            smallest = candidate;
        }
    }
    smallest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finders::case::{Expr, Operator};

    #[test]
    fn one_culprit_is_left() {
        let leaf = |name: &str| Expr::leaf(&[name]);
        let not = Expr::Not(b"!".to_vec(), Box::new(leaf("-bad")));
        let or = Expr::Join(
            Operator::Or,
            b"-o".to_vec(),
            vec![leaf("-a"), not, leaf("-b")],
        );
        let case = Case {
            starts: vec![b".".to_vec(), b"..".to_vec()],
            exprs: vec![leaf("-c"), or],
            ..Case::default()
        };
        let smallest = shrink_case(&case, |case| case.has("-bad"));
        assert_eq!(smallest.words(), [b"-bad".to_vec()]);
    }

    #[test]
    fn an_entry_is_left_with_what_holds_it() {
        let plan = Plan::new(1, 0);
        let culprit = plan.nodes.iter().rev().find(|node| node.parent.is_some());
        let culprit = culprit.expect("a nested node").number;
        let smallest = shrink_plan(&plan, |plan| plan.node(culprit).is_some());
        let node = smallest.node(culprit).expect("it is left");
        let depth = smallest
            .path(node)
            .iter()
            .filter(|byte| **byte == b'/')
            .count();
        assert_eq!(smallest.nodes.len(), depth + 1);
    }
}
