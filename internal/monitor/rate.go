package monitor

import "time"

// rateSeconds is how far back a rate can look.
const rateSeconds = 64

// rate counts records by the second in which they were done.
type rate struct {
	counts [rateSeconds]int64
	second [rateSeconds]int64 // Unix time of each count
}

func (r *rate) add(now time.Time, n int64) {
	s := now.Unix()
	i := s % rateSeconds
	if r.second[i] != s {
		r.second[i], r.counts[i] = s, 0
	}
	r.counts[i] += n
}

// over returns the records per second of the last whole seconds before now,
// window of them, or as many as have passed since the start.
func (r *rate) over(now, started time.Time, window time.Duration) float64 {
	n := min(max(int64(window/time.Second), 1), rateSeconds-1)
	n = min(n, max(now.Unix()-started.Unix(), 1))
	var sum int64
	for s := now.Unix() - n; s < now.Unix(); s++ {
		if i := s % rateSeconds; r.second[i] == s {
			sum += r.counts[i]
		}
	}
	return float64(sum) / float64(n)
}

// rateWindow is the stretch over which a rate is taken: some seconds, and at
// least two intervals, since records are counted when they are committed.
func (m *Monitor) rateWindow() time.Duration {
	return max(5*time.Second, 2*m.info.Interval)
}
