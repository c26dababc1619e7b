//! What a hit takes in process by crates that limit: JSON, nanoseconds of CPU time a hit.
//!
//! As bench/library_bench.cc: KEYS keys of 16 bytes that are known, at random, all allowed. Making
//! a key is `loop`.

use std::num::NonZeroU32;
use std::time::SystemTime;

const KEYS: u64 = 100_000;
const HITS: u64 = 3_000_000;
const LIMIT: u32 = 1_000_000; // a minute

fn cpu_ns() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

fn write_key(number: u64, key: &mut String) {
    key.clear();
    for shift in (0..16).rev() {
        key.push(char::from(b"0123456789abcdef"[(number >> (4 * shift)) as usize & 15]));
    }
}

fn measure(mut hit: impl FnMut(&String) -> bool) -> f64 {
    let mut key = String::with_capacity(16);
    for number in 0..KEYS {
        write_key(number, &mut key);
        hit(&key);
    }
    let (mut seed, mut denied) = (1u64, 0u64);
    let begin = cpu_ns();
    for _ in 0..HITS {
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        write_key((seed >> 33) % KEYS, &mut key);
        denied += u64::from(!hit(&key));
    }
    let spent = cpu_ns() - begin;
    assert_eq!(denied, 0);
    spent / HITS as f64
}

fn main() {
    let no_limit = measure(|key| std::hint::black_box(key).len() == 16);
    let quota = governor::Quota::per_minute(NonZeroU32::new(LIMIT).unwrap());
    let keyed = governor::RateLimiter::<String, _, _>::keyed(quota);
    let governor = measure(|key| keyed.check_key(key).is_ok());
    let store = throttlecrab::AdaptiveStore::with_capacity(KEYS as usize);
    let mut limiter = throttlecrab::RateLimiter::new(store);
    let limit = i64::from(LIMIT);
    let throttlecrab = measure(|key| {
        let answer = limiter.rate_limit(key, limit, limit, 60, 1, SystemTime::now());
        answer.expect("a good limit").0
    });
    println!(r#"{{"loop":{no_limit},"governor":{governor},"throttlecrab":{throttlecrab}}}"#);
}
