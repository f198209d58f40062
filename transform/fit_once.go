package transform

import (
	"sync"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// allFits caches what a mask of all records finds in their values before it draws: models, trees, ranks. A chain and
// its replicates share it, since it depends on the data alone. Nobody writes to what is in it.
type allFits struct {
	mu     sync.Mutex
	models map[fitKey]*oneFit
	sets   []fittedSet // in the order in which they came
}

// fittedSet is a set of records of which something is cached, and how many values it has.
type fittedSet struct {
	of    digest
	cells int
}

// cachedCells bounds the values of the sets of records that are kept beside the last one: replicates go through the
// parts of a sample in turn, while those of another sample (a later snapshot) do not come back.
const cachedCells = 1 << 22

// fitting is the arithmetic of a mask whose fitted models are shared with replicates.
type fitting interface{ share(*allFits) }

type fitKey struct {
	of     digest
	column int
	first  int32 // record of the stratum
	what   fitWhat
}

// fitWhat is what was found of a column.
type fitWhat uint8

const (
	fitChecked fitWhat = iota // whether columns can be masked
	fitOwn                    // the first of what a mask finds itself
)

type oneFit struct {
	mu    sync.Mutex
	done  bool
	value any
}

// begin notes that a set of records comes next, and forgets those that came long before it.
func (f *allFits) begin(of digest, cells int) {
	if f == nil {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	kept := 0
	for i := len(f.sets) - 1; i >= 0; i-- {
		if f.sets[i].of == of {
			return
		}
		if kept += f.sets[i].cells; kept <= cachedCells {
			continue
		}
		for key := range f.models {
			for _, set := range f.sets[:i+1] {
				if key.of == set.of {
					delete(f.models, key)
				}
			}
		}
		f.sets = append([]fittedSet(nil), f.sets[i+1:]...)
		break
	}
	f.sets = append(f.sets, fittedSet{of, cells})
}

// fitOnce returns what find finds, found or taken over. Without a cache (nil) it is found. What is found after stop
// says so is unfinished and is not kept.
func fitOnce[T any](f *allFits, key fitKey, stop decision.Stop, find func() T) T {
	if f == nil {
		return find()
	}
	f.mu.Lock()
	if f.models == nil {
		f.models = map[fitKey]*oneFit{}
	}
	entry := f.models[key]
	if entry == nil {
		entry = &oneFit{}
		f.models[key] = entry
	}
	f.mu.Unlock()
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if entry.done {
		return entry.value.(T)
	}
	value := find()
	if !stop.Now() { // a later replicate, which is not cancelled, must not use an unfinished one
		entry.value, entry.done = value, true
	}
	return value
}

// trials returns the cache, for what is as large as the data: of replicates alone, since a release comes once.
func (g *gatheredData) trials(f *allFits) *allFits {
	if !g.trial {
		return nil
	}
	return f
}
