package pipeline

import "sync/atomic"

// Progress is how far a run has come. It is safe for concurrent use; the zero
// value is ready.
type Progress struct {
	records, total atomic.Int64
	phase          atomic.Pointer[string]
}

// Records returns the records that the present phase has dealt with.
func (p *Progress) Records() int64 { return p.records.Load() }

// Total returns the records that there are to deal with, or -1.
func (p *Progress) Total() int64 { return p.total.Load() }

// Phase names what is being done: "profile", "survey", "mask", "assess".
func (p *Progress) Phase() string {
	if s := p.phase.Load(); s != nil {
		return *s
	}
	return ""
}

func (p *Progress) start(phase string, total int64) {
	p.records.Store(0)
	p.total.Store(total)
	p.phase.Store(&phase)
}

func (p *Progress) add(records int) { p.records.Add(int64(records)) }
