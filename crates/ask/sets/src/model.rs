//! The linear performance model: how long a plain loop and a set take.
//!
//! The paper's authors describe such a model in CMU-CS-94-216. Assumptions: a fetch from a place
//! takes its latency, then its bytes pass the place's link one fetch after the other; latencies of
//! requests in flight overlap; each place keeps its window full; one consumer processes members one
//! after the other, for a time linear in their bytes; limits on descriptors and bytes ahead are not
//! reached while the consumer waits. Times are in seconds.

/// The members at one place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Number of members.
    pub objects: f64,
    /// Bytes of all of them.
    pub bytes: f64,
    /// Time of one fetch before its first byte, in seconds.
    pub latency: f64,
    /// Bytes per second; infinite where transfer takes no time.
    pub bandwidth: f64,
    /// Number of requests in flight, at least 1.
    pub window: f64,
}

/// The objects to fetch and process.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Work {
    /// The places.
    pub places: Vec<Load>,
    /// Processing time for each member, in seconds.
    pub processing_per_object: f64,
    /// Processing time for each byte, in seconds.
    pub processing_per_byte: f64,
}

/// What the model says.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Prediction {
    /// Time of a loop that opens, reads and processes one member after the other, in seconds.
    pub plain: f64,
    /// Time of a set, in seconds.
    pub set: f64,
}

impl Load {
    fn transfer(&self) -> f64 {
        self.bytes / self.objects.max(1.0) / self.bandwidth
    }

    /// Time of one fetch at a place that does nothing else.
    fn single(&self) -> f64 {
        self.latency + self.transfer()
    }

    /// Time between two arrivals while the window is full: limited by the window or by the link.
    fn interval(&self) -> f64 {
        (self.single() / self.window.max(1.0)).max(self.transfer())
    }

    /// Time until the last member has arrived.
    ///
    /// Where latency dominates, members arrive in rounds of one window; within a round they are
    /// one transfer apart.
    fn fetching(&self) -> f64 {
        if self.objects < 1.0 {
            return 0.0;
        }
        let window = self.window.max(1.0).min(self.objects);
        if self.transfer() * window >= self.single() {
            return self.single() + (self.objects - 1.0) * self.transfer();
        }
        let rounds = (self.objects / window).ceil();
        let last = self.objects - (rounds - 1.0) * window;
        rounds * self.single() + (last - 1.0).max(0.0) * self.transfer()
    }
}

impl Work {
    fn objects(&self) -> f64 {
        self.places.iter().map(|place| place.objects).sum()
    }

    /// Time of all processing.
    pub fn processing(&self) -> f64 {
        let bytes: f64 = self.places.iter().map(|place| place.bytes).sum();
        self.objects() * self.processing_per_object + bytes * self.processing_per_byte
    }

    /// Returns the time of a plain loop: everything one after the other.
    pub fn plain(&self) -> f64 {
        let fetching = |place: &Load| place.objects * place.single();
        self.places.iter().map(fetching).sum::<f64>() + self.processing()
    }

    /// Returns the time of a set: the first arrival and all processing, or the slowest place and
    /// the processing of what arrives with its last round, whichever is longer.
    pub fn set(&self) -> f64 {
        let busy = self.places.iter().filter(|place| place.objects >= 1.0);
        let first = busy.clone().map(Load::single).fold(f64::INFINITY, f64::min);
        if !first.is_finite() {
            return 0.0;
        }
        let slowest = busy.clone().map(Load::fetching).fold(0.0, f64::max);
        let each = self.processing() / self.objects();
        // Members that are not processed yet when the last one arrives: those of its round, at all
        // places that still fetch.
        let spread = |place: &Load| slowest - place.fetching();
        let late = busy
            .clone()
            .filter(|place| spread(place) < place.interval().max(each));
        let together: f64 = late
            .map(|place| {
                let window = place.window.max(1.0).min(place.objects);
                let rounds = (place.objects / window).ceil();
                let last = place.objects - (rounds - 1.0) * window;
                let spacing = place.transfer();
                // While they arrive one transfer apart, some are processed already.
                1.0 + (last - 1.0) * (1.0 - spacing / each.max(spacing).max(1e-12))
            })
            .sum();
        (first + self.processing()).max(slowest + together.max(1.0) * each)
    }

    /// Returns both.
    pub fn predict(&self) -> Prediction {
        Prediction {
            plain: self.plain(),
            set: self.set(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates the model's assumptions member by member: returns the time at which the last one
    /// has been processed.
    fn simulated(work: &Work) -> f64 {
        let mut arrivals = Vec::new();
        for place in &work.places {
            let mut slots = vec![0.0f64; place.window as usize];
            let mut link = 0.0f64;
            for _ in 0..place.objects as usize {
                let slot = (0..slots.len())
                    .min_by(|a, b| slots[*a].total_cmp(&slots[*b]))
                    .unwrap();
                let at_link = slots[slot] + place.latency;
                link = link.max(at_link) + place.bytes / place.objects / place.bandwidth;
                slots[slot] = link;
                arrivals.push((link, place.bytes / place.objects));
            }
        }
        arrivals.sort_by(|a, b| a.0.total_cmp(&b.0));
        arrivals.iter().fold(0.0, |now: f64, (arrival, bytes)| {
            now.max(*arrival) + work.processing_per_object + bytes * work.processing_per_byte
        })
    }

    #[test]
    fn agrees_with_a_simulation_within_a_tenth() {
        let mut cells = 0;
        for servers in [1, 2, 4, 8] {
            for objects in [10.0, 40.0, 200.0] {
                for size in [1e3, 1e5, 1e6] {
                    for bandwidth in [1e6, 1e8, f64::INFINITY] {
                        for window in [1.0, 4.0, 16.0] {
                            for per_byte in [0.0, 1e-8, 1e-6] {
                                let place = Load {
                                    objects,
                                    bytes: objects * size,
                                    latency: 0.02,
                                    bandwidth,
                                    window,
                                };
                                let work = Work {
                                    places: vec![place; servers],
                                    processing_per_object: 1e-4,
                                    processing_per_byte: per_byte,
                                };
                                let (want, got) = (simulated(&work), work.set());
                                let error = (got - want).abs() / want;
                                assert!(error < 0.10, "{want} {got} {work:?}");
                                cells += 1;
                            }
                        }
                    }
                }
            }
        }
        assert_eq!(cells, 972);
    }

    #[test]
    fn the_papers_experiment() {
        let place = Load {
            objects: 50.0,
            bytes: 0.0,
            latency: 0.02,
            bandwidth: f64::INFINITY,
            window: 1.0,
        };
        let work = Work {
            places: vec![place; 4],
            processing_per_object: 0.00125,
            processing_per_byte: 0.0,
        };
        let told = work.predict();
        assert!((told.plain - 4.25).abs() < 1e-9, "{told:?}");
        assert!(told.plain / told.set > 4.2, "{told:?}");
        assert_eq!(Work::default().predict(), Prediction::default());
    }
}
