package parquet

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/sdlfilter/sdlfilter/check"
	"github.com/sdlfilter/sdlfilter/connectors"
)

// Roll says when the open files of a stream become complete: as soon as one of
// them has that many records or bytes, or so much time has passed since the
// first record.
type Roll struct {
	Records  int                 `yaml:"records" default:"1000000" doc:"complete the files when one of them has so many records: 1000000"`
	Size     Size                `yaml:"size" default:"128MB" doc:"or when one of them has so many bytes: 128MB; also kB, GB and KiB, MiB, GiB"`
	Interval connectors.Duration `yaml:"interval" default:"5m" doc:"or after so much time since their first record: 5m; records are visible, and their offsets committed, only then"`
}

// DefaultRoll is what holds where a stream is written and nothing is said.
func DefaultRoll() *Roll {
	return &Roll{Records: 1_000_000, Size: 128_000_000, Interval: connectors.Duration(5 * time.Minute)}
}

// Check reports what is wrong with the limits.
func (r *Roll) Check() check.Problems {
	var ps check.Problems
	if r.Records < 1 {
		ps.Addf("records", "must be at least 1, got %d", r.Records)
	}
	if r.Size < 1 {
		ps.Addf("size", "must be at least 1, got %d", int64(r.Size))
	}
	if r.Interval <= 0 {
		ps.Addf("interval", "must be a positive length of time, got %v", time.Duration(r.Interval))
	}
	return ps
}

// Size is a number of bytes in a configuration, written as 128MB, 64MiB or plain
// digits. k, M, G and T are powers of 1000, Ki, Mi, Gi and Ti of 1024.
type Size int64

// units are ordered so that no suffix ends in an earlier one, and by size.
var units = []struct {
	suffix string
	bytes  int64
}{
	{"TiB", 1 << 40}, {"TB", 1e12}, {"GiB", 1 << 30}, {"GB", 1e9},
	{"MiB", 1 << 20}, {"MB", 1e6}, {"KiB", 1 << 10}, {"kB", 1e3}, {"B", 1},
}

// UnmarshalText reads a positive whole number with or without a unit.
func (s *Size) UnmarshalText(text []byte) error {
	number, factor := string(text), int64(1)
	for _, u := range units {
		if before, found := strings.CutSuffix(number, u.suffix); found {
			number, factor = strings.TrimRight(before, " "), u.bytes
			break
		}
	}
	v, err := strconv.ParseUint(number, 10, 63)
	if err != nil || v == 0 || int64(v) > math.MaxInt64/factor {
		return fmt.Errorf("must be a number of bytes, such as 128MB or 64MiB, got %q", text)
	}
	*s = Size(int64(v) * factor)
	return nil
}

// MarshalText writes what UnmarshalText reads, in the largest unit that fits.
func (s Size) MarshalText() ([]byte, error) {
	for _, u := range units {
		if int64(s) >= u.bytes && int64(s)%u.bytes == 0 {
			return append(strconv.AppendInt(nil, int64(s)/u.bytes, 10), u.suffix...), nil
		}
	}
	return strconv.AppendInt(nil, int64(s), 10), nil
}

// String is the text that a configuration has.
func (s Size) String() string {
	text, _ := s.MarshalText()
	return string(text)
}
