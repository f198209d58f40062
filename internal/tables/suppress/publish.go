package suppress

import (
	"time"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// publishAll publishes as many of the cells as the needs allow: first those for which a quick search finds
// witnesses, then, of the fewer cells that are hidden still, those for which a search that takes longer finds them.
func (e *engine) publishAll(cells []int32) error {
	if !e.mends {
		_, err := e.publish(cells)
		return err
	}
	e.quick = true
	kept, err := e.publish(cells)
	if err != nil {
		return err
	}
	if e.layout, err = e.split(); err != nil {
		return err
	}
	e.quick = false
	for _, c := range kept { // few can be published, so that batches are of no use
		if _, err := e.publish([]int32{c}); err != nil || e.left <= 0 {
			return err
		}
	}
	return nil
}

// publish publishes as many of the cells as the needs allow, in their order, and
// returns those that stay hidden. It tries all at once and, if this fails, each half.
// Cells that were not tried within the time limit stay hidden.
func (e *engine) publish(cells []int32) (kept []int32, err error) {
	if len(cells) == 0 {
		return nil, nil
	}
	if err := e.q.Stopped(); err != nil {
		return nil, err
	}
	if e.short = e.short || !e.until.IsZero() && !time.Now().Before(e.until); e.short {
		return cells, nil
	}
	ok, err := e.try(cells)
	if err != nil || ok {
		return nil, err
	}
	if len(cells) == 1 {
		return cells, nil
	}
	first, err := e.publish(cells[:len(cells)/2])
	if err != nil {
		return nil, err
	}
	second, err := e.publish(cells[len(cells)/2:])
	return append(first, second...), err
}

// try publishes a batch if every need can still be met, else no cell of it, and reports
// whether it did. It tries a large batch in a new, small layout, and a small batch in
// the present layout with the cells of the batch fixed.
func (e *engine) try(cells []int32) (ok bool, err error) {
	before := e.layout
	apart := e.hidden-len(cells) < before.open*2/3
	e.hide(cells, false)
	defer func() {
		if !ok {
			e.hide(cells, true)
		}
	}()
	users := e.users(cells)
	if apart {
		if e.layout, err = e.split(); err != nil {
			return false, err
		}
	} else if err := e.each(cells, (*audit.Component).Fix); err != nil {
		return false, err
	}
	if len(users) == 0 {
		return true, nil
	}
	e.Trials++
	if ok = e.renew(users, len(cells)); ok {
		return true, nil
	}
	if apart {
		e.layout = before
		return false, nil
	}
	return false, e.each(cells, func(p *audit.Component, j int) error { return p.Free(e.q, j) })
}

// renew searches for new witnesses of the needs and reports whether all were found.
// Witnesses that were found are kept even if others are missing, because they are also
// valid for every part of the batch.
func (e *engine) renew(needs []int32, batch int) bool {
	ok, missing := true, 0
	for _, i := range needs {
		if w, reached := e.reach(i); reached {
			e.remember(i, w)
			continue
		}
		ok = false
		e.needs[i].failed++
		if missing++; batch < lookAhead || missing >= enoughMissing && (e.quick || e.layout.huge) {
			break
		}
	}
	return ok
}

// lookAhead is the size from which renew continues with the other needs after a batch
// has failed: the new witnesses do not change the cells of the batch and so save work
// for its parts.
const lookAhead = 64

// enoughMissing is the number of needs without a witness after which renew gives up a
// batch in a quick search or if a component is huge.
const enoughMissing = 16
