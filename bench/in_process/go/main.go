// Prints what a hit costs with Go's packages that limit: JSON, nanoseconds of CPU time a hit.
//
// As bench/library_bench.cc: keys of 16 bytes that are known, at random, all allowed. Making a key
// is `loop`. The packages have no keys: a map has a limiter for each, behind a mutex, as their
// users write it.
package main

import (
	"fmt"
	"sync"
	"syscall"

	"go.uber.org/ratelimit"
	"golang.org/x/time/rate"
)

const (
	keys  = 100_000
	hits  = 3_000_000
	limit = 1_000_000 // a minute
)

func cpuNs() float64 {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		panic(err)
	}
	return float64(used.Utime.Nano() + used.Stime.Nano())
}

func writeKey(number uint64, key []byte) {
	for i := range key {
		key[i] = "0123456789abcdef"[number>>(4*(15-i))&15]
	}
}

type keyed[T any] struct {
	mutex    sync.Mutex
	limiters map[string]T
}

func (all *keyed[T]) of(key []byte, create func() T) T {
	all.mutex.Lock()
	defer all.mutex.Unlock()
	found, known := all.limiters[string(key)]
	if !known {
		found = create()
		all.limiters[string(key)] = found
	}
	return found
}

func measure(hit func([]byte) bool) float64 {
	key := make([]byte, 16)
	for number := range uint64(keys) {
		writeKey(number, key)
		hit(key)
	}
	seed, denied := uint64(1), 0
	begin := cpuNs()
	for range hits {
		seed = seed*6364136223846793005 + 1442695040888963407
		writeKey(seed>>33%keys, key)
		if !hit(key) {
			denied++
		}
	}
	spent := cpuNs() - begin
	if denied > 0 {
		panic("a hit was denied")
	}
	return spent / hits
}

func main() {
	loop := measure(func(key []byte) bool { return len(key) == 16 })
	times := keyed[*rate.Limiter]{limiters: map[string]*rate.Limiter{}}
	time := measure(func(key []byte) bool {
		return times.of(key, func() *rate.Limiter { return rate.NewLimiter(limit/60, limit) }).Allow()
	})
	// It has no denials: Take() sleeps until a unit is there, which it is.
	takers := keyed[ratelimit.Limiter]{limiters: map[string]ratelimit.Limiter{}}
	uber := measure(func(key []byte) bool {
		takers.of(key, func() ratelimit.Limiter { return ratelimit.New(1_000_000_000) }).Take()
		return true
	})
	fmt.Printf(`{"loop":%f,"golang.org/x/time":%f,"go.uber.org/ratelimit":%f}`+"\n", loop, time, uber)
}
