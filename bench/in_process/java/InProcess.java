import com.sun.management.OperatingSystemMXBean;
import io.github.bucket4j.Bucket;
import io.github.resilience4j.ratelimiter.RateLimiterConfig;
import io.github.resilience4j.ratelimiter.RateLimiterRegistry;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.Predicate;

/**
 * Prints what a hit costs with Java's libraries that limit: JSON, nanoseconds of CPU time a hit.
 *
 * <p>As bench/library_bench.cc: keys of 16 bytes that are known, at random, all allowed. Making a
 * key, a new string as one that came in a request is, is `loop`. The last of some rounds counts,
 * when the code is compiled.
 */
final class InProcess {
  static final int KEYS = 100_000, HITS = 1_000_000, LIMIT = 1_000_000, ROUNDS = 3;

  static long cpuNs() {
    return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean())
        .getProcessCpuTime();
  }

  static String keyOf(long number) {
    byte[] key = new byte[16];
    for (int i = 0; i < 16; ++i) {
      key[i] = (byte) "0123456789abcdef".charAt((int) (number >>> (4 * (15 - i))) & 15);
    }
    return new String(key, StandardCharsets.ISO_8859_1);
  }

  static double measure(Predicate<String> hit) {
    for (long number = 0; number < KEYS; ++number) hit.test(keyOf(number));
    double each = 0;
    for (int round = 0; round < ROUNDS; ++round) {
      long seed = 1, denied = 0, begin = cpuNs();
      for (int i = 0; i < HITS; ++i) {
        seed = seed * 6364136223846793005L + 1442695040888963407L;
        if (!hit.test(keyOf((seed >>> 33) % KEYS))) ++denied;
      }
      each = (cpuNs() - begin) / (double) HITS;
      if (denied > 0) throw new IllegalStateException("a hit was denied");
    }
    return each;
  }

  public static void main(String[] words) {
    double loop = measure(key -> key.length() == 16);
    var buckets = new ConcurrentHashMap<String, Bucket>();
    var minute = Duration.ofMinutes(1);
    double bucket4j = measure(key -> buckets.computeIfAbsent(key, unknown -> Bucket.builder()
        .addLimit(it -> it.capacity(LIMIT).refillGreedy(LIMIT, minute)).build()).tryConsume(1));
    var registry = RateLimiterRegistry.of(RateLimiterConfig.custom().limitForPeriod(LIMIT)
        .limitRefreshPeriod(minute).timeoutDuration(Duration.ZERO).build());
    double resilience4j = measure(key -> registry.rateLimiter(key).acquirePermission());
    System.out.printf("{\"loop\":%f,\"bucket4j\":%f,\"resilience4j\":%f}%n", loop, bucket4j,
        resilience4j);
    System.exit(0);
  }
}
