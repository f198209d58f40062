package account

import (
	"github.com/sdlfilter/sdlfilter/assess/report"
)

// Result is how a run ended.
type Result struct {
	Report *report.Report
	Files  []string // what has been given its final name, the release first

	// Drained says that this was a stream without end that has ended as it was
	// told to.
	Drained bool
	// Cut says that this was a stream with an end that was told to stop before it
	// had come to it.
	Cut bool
	// Held says that this was a stream with an end, at which records were held back.
	Held bool
}

// Refused reports whether the gate withheld the release, or what was read last of
// a stream with an end. A stream that alerts, and one without end that holds
// records back, has done what it was told to.
func (r *Result) Refused() bool { return r.Report.Withheld != "" || r.Held }

// Quarantined returns how many records could not be masked.
func (r *Result) Quarantined() int64 { return r.Report.Records.Quarantined }
