package stream_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/config"
	"github.com/sdlfilter/sdlfilter/internal/eventually"
	"github.com/sdlfilter/sdlfilter/internal/pipeline"
	"github.com/sdlfilter/sdlfilter/internal/pipeline/stream"
)

// A stream does not start with a sensitive column that no mask changes, at the first or last place
// in the list, and does not accept such a changed configuration.
func TestStreamRefusesUnmaskedColumns(t *testing.T) {
	for name, change := range map[string]func(string) string{
		"first": func(text string) string {
			return strings.Replace(text, "id: {role: other}", "id: {role: sensitive}", 1)
		},
		"last": func(text string) string {
			return strings.Replace(text, "region: {role: other}", "region: {role: sensitive}", 1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStand(t)
			s.persons(0, 40)
			good := fmt.Sprintf(standConfig, s.address, s.key)
			bad := change(good)
			_, err := stream.Run(t.Context(), s.parse(bad), s.options())
			var errs config.Errors
			if !errors.As(err, &errs) || !strings.Contains(err.Error(), "must be masked") {
				t.Fatalf("the stream ends with %v, want a refusal of the configuration", err)
			}
			if released := s.values("out", 0); len(released) > 0 {
				t.Fatalf("%d messages are released with a refused configuration", len(released))
			}

			log := s.listen()
			changed := make(chan pipeline.Changed, 1)
			changed <- pipeline.Changed{Config: s.parse(bad)}
			o := log.options()
			o.Reload = changed
			ctx, cancel := context.WithTimeout(t.Context(), 3*eventually.Patience)
			defer cancel()
			if _, err := stream.Run(ctx, s.parse(good), o); err != nil {
				t.Fatal(err)
			}
			if !log.has("must be masked") {
				t.Error("the log does not say that the changed configuration is refused")
			}
			for id, released := range s.exactlyOnce("out", 40) {
				if released == wage(id) {
					t.Errorf("the wage of person %d is released unmasked", id)
				}
			}
		})
	}
}
