package orderstat

import (
	"fmt"
	"strconv"
	"strings"
)

// Target is an order statistic of the original values.
type Target struct {
	Name  string
	Place int64 // 100000·p; 0 for the minimum, 100000 for the maximum
}

const whole = 100_000

// ParseTarget reads min, max, or p and a percentage above 0 and below 100 with at least two
// digits and at most three decimals.
func ParseTarget(name string) (Target, error) {
	switch name {
	case "min":
		return Target{name, 0}, nil
	case "max":
		return Target{name, whole}, nil
	}
	bad := fmt.Errorf("must be min, max or a percentile as p01, p50, p99.9, got %q", name)
	digits, ok := strings.CutPrefix(name, "p")
	if !ok {
		return Target{}, bad
	}
	units, fraction, dotted := strings.Cut(digits, ".")
	if len(units) != 2 || len(fraction) > 3 || dotted && fraction == "" {
		return Target{}, bad
	}
	v, err := strconv.ParseUint(units+fraction+"000"[len(fraction):], 10, 32)
	if err != nil || v == 0 {
		return Target{}, bad
	}
	return Target{name, int64(v)}, nil
}

// Minimum, Maximum and Extremal report whether a target is that extreme, or one of both.
func (t Target) Minimum() bool { return t.Place == 0 }

func (t Target) Maximum() bool { return t.Place == whole }

func (t Target) Extremal() bool { return t.Minimum() || t.Maximum() }

// Rank returns k = ⌈np⌉, at least 1: docs/methods.md, section 2. n·p is computed in integers,
// because products such as 177·0.1 are not exact in floating point.
func (t Target) Rank(n int) int {
	q, r := int64(n)/whole, int64(n)%whole
	k := q*t.Place + (r*t.Place+whole-1)/whole
	return int(max(k, 1))
}
