package account

import (
	"github.com/sdlfilter/sdlfilter/assess/report"
	"github.com/sdlfilter/sdlfilter/microdata"
)

// Result is how a run ended.
type Result struct {
	Report *report.Report
	Files  []string          // what has been given its final name, the release first
	Schema *microdata.Schema // of the release; nil: it is not known here

	// Drained says that a stream without end was told to end, and has ended.
	Drained bool
	// Cut says that a stream with an end was told to stop before that end.
	Cut bool
	// Lost says that a stream has lost more records of its source than may be lost; "": it has not.
	Lost string
	// Held says that a stream with an end was holding records back when it ended.
	Held bool
}

// Refused reports whether the gate withheld the release, or held back the last records of a
// stream with an end. A stream that only alerts, or one without end that holds records back,
// has done what its configuration says and is not refused.
func (r *Result) Refused() bool { return r.Report.Withheld != "" || r.Held }

// Quarantined returns how many records could not be masked.
func (r *Result) Quarantined() int64 { return r.Report.Records.Quarantined }
