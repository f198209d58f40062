package gathered

import (
	"sync"

	"github.com/sdlfilter/sdlfilter/transform/internal/decision"
)

// Fits caches what a mask of all records finds in their values before it draws: models, trees, ranks. A chain and
// its replicates share it, since it depends on the data alone. Nobody writes to what is in it.
type Fits struct {
	mu     sync.Mutex
	Models map[FitKey]*oneFit
	sets   []fittedSet // in the order in which they came
}

// fittedSet is a set of records of which something is cached, and how many values it has.
type fittedSet struct {
	of    Digest
	cells int
}

// cachedCells bounds the values of the sets of records that are kept beside the last one: replicates go through the
// parts of a sample in turn, while those of another sample (a later snapshot) do not come back.
const cachedCells = 1 << 22

// Fitting is the arithmetic of a mask whose fitted models are shared with replicates.
type Fitting interface{ Share(*Fits) }

// FitKey names what was found of a set of records.
type FitKey struct {
	Of     Digest
	Column int
	First  int32 // record of the stratum
	What   FitWhat
}

// FitWhat is what was found of a column.
type FitWhat uint8

const (
	fitChecked FitWhat = iota // whether columns can be masked
	FitOwn                    // the first of what a mask finds itself
)

type oneFit struct {
	mu    sync.Mutex
	done  bool
	value any
}

// Begin notes that a set of records comes next, and forgets those that came long before it.
func (f *Fits) Begin(of Digest, cells int) {
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
		for key := range f.Models {
			for _, set := range f.sets[:i+1] {
				if key.Of == set.of {
					delete(f.Models, key)
				}
			}
		}
		f.sets = append([]fittedSet(nil), f.sets[i+1:]...)
		break
	}
	f.sets = append(f.sets, fittedSet{of, cells})
}

// Once returns what find finds, found or taken over. Without a cache (nil) it is found. What is found after stop
// says so is unfinished and is not kept.
func Once[T any](f *Fits, key FitKey, stop decision.Stop, find func() T) T {
	if f == nil {
		return find()
	}
	f.mu.Lock()
	if f.Models == nil {
		f.Models = map[FitKey]*oneFit{}
	}
	entry := f.Models[key]
	if entry == nil {
		entry = &oneFit{}
		f.Models[key] = entry
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

// Trials returns the cache, for what is as large as the data: of replicates alone, since a release comes once.
func (g *Data) Trials(f *Fits) *Fits {
	if !g.Trial {
		return nil
	}
	return f
}
