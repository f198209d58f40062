package objects

import (
	"context"
	"errors"
	"fmt"
)

// Ended is the error of a request that was ended, or had no answer in time, without what clients say beside: the
// address, with a signature in it perhaps. It is nil for other errors.
func Ended(err error) error {
	switch {
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("no answer came in time: %w", context.DeadlineExceeded)
	}
	return nil
}

// Answer is what an error says of a server's answer.
func Answer(status int, code string) string {
	if code == "" {
		return fmt.Sprintf("status %d", status)
	}
	return fmt.Sprintf("status %d, %s", status, code)
}

// Word lets an error's code through that is one: a name of letters.
func Word(code string) string {
	if len(code) > 60 {
		return ""
	}
	for _, r := range code {
		if (r|0x20) < 'a' || (r|0x20) > 'z' {
			return ""
		}
	}
	return code
}
