package connectors

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
