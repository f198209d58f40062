package connectors

import (
	"fmt"
	"time"
)

// Duration is a length of time in a configuration, written as 30s, 1m30s, 500ms.
type Duration time.Duration

// UnmarshalText reads a positive length of time with its unit.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil || v <= 0 {
		return fmt.Errorf("must be a positive length of time with its unit, such as 30s or 1m30s, got %q", text)
	}
	*d = Duration(v)
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }
