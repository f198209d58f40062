package assess

import (
	"fmt"
	"strconv"
	"strings"
)

// target is an order statistic of the original values.
type target struct {
	name  string
	place int64 // 100000·p; 0 for the minimum, whole for the maximum
}

const whole = 100_000

func parseTarget(name string) (target, error) {
	switch name {
	case "min":
		return target{name, 0}, nil
	case "max":
		return target{name, whole}, nil
	}
	bad := fmt.Errorf("must be min, max or a percentile as p01, p50, p99.9, got %q", name)
	digits, ok := strings.CutPrefix(name, "p")
	if !ok {
		return target{}, bad
	}
	units, fraction, dotted := strings.Cut(digits, ".")
	if len(units) != 2 || len(fraction) > 3 || dotted && fraction == "" {
		return target{}, bad
	}
	v, err := strconv.ParseUint(units+fraction+"000"[len(fraction):], 10, 32)
	if err != nil || v == 0 {
		return target{}, bad
	}
	return target{name, int64(v)}, nil
}

func (t target) minimum() bool { return t.place == 0 }

func (t target) maximum() bool { return t.place == whole }

func (t target) extremal() bool { return t.minimum() || t.maximum() }

// rank is k = ⌈np⌉, at least 1: docs/methods.md, section 2. n·p is computed in integers, as
// 177·0.1 would not be in floats.
func (t target) rank(n int) int {
	q, r := int64(n)/whole, int64(n)%whole
	k := q*t.place + (r*t.place+whole-1)/whole
	return int(max(k, 1))
}
