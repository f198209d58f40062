package registry_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/internal/message/registry"
	"github.com/sdlfilter/sdlfilter/internal/message/registry/registrytest"
)

// A registry that has another schema under a number than before was made anew, be it the first number or the last. One
// that gives no answer, or has no such schema any more, or further ones, is not.
func TestSame(t *testing.T) {
	ctx := context.Background()
	texts := []string{person, street, `{"type":"record","name":"Canary","fields":[]}`}
	register := func(r *registrytest.Registry, of ...int) {
		for _, i := range of {
			r.Register(t, "s"+texts[i][24:30], registry.Avro, texts[i])
		}
	}
	for name, c := range map[string]struct {
		again []int // what is registered anew; nil: nothing is
		other string
	}{
		"nothing happens": {}, "the same again": {[]int{0, 1, 2}, ""}, "fewer": {[]int{0}, ""},
		"further ones":  {[]int{0, 1, 2, 0}, ""},
		"another order": {[]int{1, 0, 2}, "1"}, "the last alone": {[]int{0, 2}, "2"}, "all": {[]int{2, 0, 1}, "1"},
	} {
		r := registrytest.New(t)
		client := r.Client(t)
		if err := client.Same(ctx); err != nil {
			t.Errorf("%s, before anything was asked for: %v", name, err)
		}
		register(r, 0, 1, 2)
		for id := range uint32(2) { // the third is not asked for
			if _, err := client.ByID(ctx, id+1); err != nil {
				t.Fatal(err)
			}
		}
		if c.again != nil {
			r.Remake()
			register(r, c.again...)
		}
		r.Fail(1, http.StatusServiceUnavailable)
		r.Fail(-1, 0)
		if err := client.Same(ctx); err != nil {
			t.Errorf("%s, without an answer: %v", name, err)
		}
		r.Fail(0, 0)
		err := client.Same(ctx)
		var e *registry.Error
		if (err != nil) != (c.other != "") || err != nil &&
			(!errors.As(err, &e) || e.Kind != registry.Remade ||
				!strings.Contains(err.Error(), "read schema "+c.other+" again: ") || strings.Contains(err.Error(), "Canary")) {
			t.Errorf("%s: error %v, want one of schema %q", name, err, c.other)
		}
	}
}
