//! Equations 3.5 and 3.6.

use trawl_analysis::preemption::{Intensity, Load, Machine, preempted, warning};

use crate::{buckets, close, view};

fn power(exponent: i32) -> f64 {
    f64::from(exponent).exp2()
}

fn load(cpu: f64, period: f64, yields: f64) -> Load {
    Load {
        requests: 1e5,
        cpu,
        period,
        yields,
        quantum: power(26),
    }
}

#[test]
fn probabilities_are_those_of_the_paper() {
    // "Plugging in our typical case numbers for times and 1% yield rate (Y = 0.01,
    // t_cpu = t_period/2 = 2^14, Q = 2^26) we get a small forced preemption probability: 10⁻⁹."
    let typical = load(power(14), power(15), 0.01).probability();
    assert_eq!(typical.log10().round(), -9.0);
    // "(Y = 0.1, t_cpu = t_period/2 = 2^18, Q = 2^26) […] we get a forced preemption probability of
    // 0.7 × 10⁻⁶."
    let slow = load(power(18), power(19), 0.1).probability();
    assert_eq!(format!("{:.1}", slow * 1e6), "0.7");
    // "For example, it is as low as 10⁻²⁸⁰ if t_cpu = t_period/2 = 2^10 even for Y = 0.01." The
    // equation gives 2^15 · log₁₀ 0.99 − log₁₀ 2 = −143.3 there; the paper's number is that of a
    // t_period of 2^10: 2^16 · log₁₀ 0.99 − log₁₀ 2 = −286.4.
    let fast = load(power(10), power(11), 0.01).probability();
    close(fast.log10(), -143.3, 0.1);
    let faster = load(power(9), power(10), 0.01).probability();
    close(faster.log10(), -286.4, 0.1);
}

#[test]
fn a_longer_period_makes_preemption_likelier_until_user_time_takes_it() {
    // Figure 3.7: with t_period − t_cpu = 2^25 "Pr(fp) declines less rapidly".
    let at = |user: i32, cpu: i32| {
        let period = power(user) + power(cpu);
        load(power(cpu), period, 0.5).probability()
    };
    assert!(at(25, 15) > at(20, 15));
    assert!(at(20, 15) >= at(15, 15));
    // (1/2)^(2^26 / (2^25 + 2^15)) · 2^15 / (2^25 + 2^15): 0.2503 · 0.000976.
    close(at(25, 15), 0.000_244_4, 1e-6);
}

#[test]
fn a_load_is_intensive_by_what_it_yields() {
    // T_cpu = N · t_period against N·Q·Y: 2^15 against 2^26 · 0.01 = 671,089.
    assert_eq!(
        load(power(14), power(15), 0.01).intensity(),
        Intensity::Yield
    );
    assert_eq!(load(power(14), power(15), 0.0).intensity(), Intensity::Cpu);
    // 2^15 = 32,768 against 2^26 / 1,000 = 67,109.
    assert_eq!(
        load(power(14), power(15), 0.001).intensity(),
        Intensity::Between
    );
}

#[test]
fn preempted_requests_move_by_the_quanta_of_the_others() {
    let counts = buckets(&[(8, 10_000_000), (10, 1_000_000)]);
    // n_k · 3/2·2ᵏ / Q: 10⁷ · 384 / 2^26 = 57.22; 10⁶ · 1536 / 2^26 = 22.89.
    let two = preempted(view(&counts), power(26), 2);
    close(two.requests(), 57.2205 + 22.8882, 1e-3);
    // 2^26 + 384 and 2^26 + 1536 lie in bucket 26.
    close(two.buckets[26], 80.1087, 1e-3);
    close(two.buckets[8], 10_000_000.0 - 57.2205, 1e-3);
    close(two.buckets[10], 1_000_000.0 - 22.8882, 1e-3);
    // With three processes, 2 · 2^26 is added: bucket 27.
    let three = preempted(view(&counts), power(26), 3);
    assert!(three.moves.iter().all(|one| one.to == 27));
    // K(b) = {k : 0 < k, …}: bucket 0 stays.
    let zero = preempted(view(&buckets(&[(0, 1_000_000_000)])), power(26), 2);
    assert!(zero.moves.is_empty());
    // A process alone is not preempted.
    assert!(preempted(view(&counts), power(26), 1).moves.is_empty());
}

fn machine() -> Machine {
    Machine {
        quantum: power(26),
        period: power(12),
        processes: 2,
        cpus: 1,
        wait_from: power(16),
    }
}

#[test]
fn the_warning_bounds_and_estimates() {
    let counts = buckets(&[(10, 100_000_000)]);
    let warning = warning(view(&counts), &machine()).expect("2,289 requests are preempted");
    // Y = 0. Eq. 3.5: 10⁸ · 1536/4096. Eq. 3.6: 10⁸ · 1536/2^26 = 2,288.8.
    close(warning.expected_most, 37_500_000.0, 1e-3);
    close(warning.expected, 2_288.818, 1e-3);
    assert_eq!(warning.bucket, Some(26));
}

#[test]
fn what_can_be_ignored_gives_no_warning() {
    let counts = buckets(&[(10, 100_000_000)]);
    // "almost never happen if there are only two processes that run on two CPUs"
    let two_cpus = Machine {
        cpus: 2,
        ..machine()
    };
    assert_eq!(warning(view(&counts), &two_cpus), None);
    // One request in ten waits: 0.9^(2^14) is nothing.
    let waits = buckets(&[(10, 90_000_000), (22, 10_000_000)]);
    assert_eq!(warning(view(&waits), &machine()), None);
    // Two requests: 2 · 0.375 < 1.
    assert_eq!(warning(view(&buckets(&[(10, 2)])), &machine()), None);
    assert_eq!(warning(view(&[]), &machine()), None);
}
