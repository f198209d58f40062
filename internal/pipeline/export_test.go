package pipeline

import "time"

// DrainWithin sets how long a stream may take to end.
func (o Options) DrainWithin(d time.Duration) Options {
	o.drain = d
	return o
}
