package pipeline

import (
	"sync/atomic"
	"time"
)

// Progress is how far a run has come. It is safe for concurrent use; the zero
// value is ready.
type Progress struct {
	records, total atomic.Int64
	phase          atomic.Pointer[string]
	since          atomic.Int64 // when counting began, in nanoseconds
	watcher        atomic.Pointer[func(phase string)]
}

// Watch calls f at the beginning of each phase from now on, before its first record; nil ends it.
func (p *Progress) Watch(f func(phase string)) {
	if f == nil {
		p.watcher.Store(nil)
		return
	}
	p.watcher.Store(&f)
}

func (p *Progress) begin(phase string) {
	if f := p.watcher.Load(); f != nil {
		(*f)(phase)
	}
}

// Records returns the number of records that the present phase has processed.
func (p *Progress) Records() int64 { return p.records.Load() }

// Total returns the number of records to be processed, or -1.
func (p *Progress) Total() int64 { return p.total.Load() }

// Phase is the present step, such as "profile", "survey", "mask", "assess", and for a map
// "read", "map", "rehearse".
func (p *Progress) Phase() string {
	if s := p.phase.Load(); s != nil {
		return *s
	}
	return ""
}

// Rate returns the records per second of the present phase; for "assess", which comes after the
// last record, those of the masking.
func (p *Progress) Rate() float64 {
	elapsed := time.Now().UnixNano() - p.since.Load()
	if p.phase.Load() == nil || elapsed <= 0 {
		return 0
	}
	return float64(p.Records()) * 1e9 / float64(elapsed)
}

// Start begins a phase of total records; -1 if the number is unknown.
func (p *Progress) Start(phase string, total int64) {
	p.begin(phase) // while Records still counts those of the phase before
	p.records.Store(0)
	p.total.Store(total)
	p.since.Store(time.Now().UnixNano())
	p.phase.Store(&phase)
}

// Measuring begins the phase after the last record, and keeps the count of records.
func (p *Progress) Measuring() {
	phase := "assess"
	p.begin(phase)
	p.total.Store(p.records.Load())
	p.phase.Store(&phase)
}

// Add counts records of the phase.
func (p *Progress) Add(records int) { p.records.Add(int64(records)) }
