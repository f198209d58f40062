package suppress

import (
	"time"

	"github.com/sdlfilter/sdlfilter/internal/tables/audit"
)

// publish publishes as many of the cells as the needs allow, in their order, and
// returns those that stay hidden: all at once where that goes, else half by half. When
// the time is over what was not tried stays hidden.
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

// try publishes a batch if every need can still be met; else nothing of it. A large
// batch is tried in a layout of its own, which is small, a small one in the present
// layout, where its cells are fixed.
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

// renew finds new witnesses for needs. Those that were found stay where others are
// missing: what is good for a batch is good for its parts.
func (e *engine) renew(needs []int32, batch int) bool {
	ok, missing := true, 0
	for _, i := range needs {
		if w, reached := e.reach(i); reached {
			e.remember(i, w)
			continue
		}
		ok = false
		e.needs[i].failed++
		if missing++; batch < lookAhead || missing >= enoughMissing && e.layout.huge {
			break
		}
	}
	return ok
}

// lookAhead is the size from which a batch that has failed goes on looking for
// witnesses of the other needs: that so few of them change its cells pays later.
const lookAhead = 64

// enoughMissing is how many needs without a witness end the look at a batch in a huge
// component.
const enoughMissing = 16
