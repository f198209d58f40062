package publish_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/sdlfilter/sdlfilter/internal/files"
	"github.com/sdlfilter/sdlfilter/internal/objects/objecttest"
	"github.com/sdlfilter/sdlfilter/internal/publish"
)

// Lists that show what was there some releases ago, from a server that is slow: each release replaces the one before as
// a whole; who reads by an old list sees one release, whole, or is told that he cannot; and a release that sees what is
// there removes what earlier ones could not see.
func TestStaleLists(t *testing.T) {
	server := serve(t)
	draw := rand.New(rand.NewPCG(39, 6))
	server.Failing(func(*http.Request) *objecttest.Fault {
		if draw := rand.IntN(4); draw == 0 {
			return &objecttest.Fault{Wait: time.Duration(rand.IntN(20)) * time.Millisecond}
		}
		return nil
	})
	const parts = 3
	late, read, refused := 0, 0, 0
	for release := range 60 {
		switch draw.IntN(4) {
		case 0:
			server.Freeze()
		case 1:
			server.Thaw()
			late = 0
		}
		word := fmt.Sprintf("%03d", release)
		d, err := publish.CreateDir(folder, ".csv")
		for i := range parts {
			if err != nil {
				break
			}
			var p publish.Part
			if p, err = d.Create(fmt.Sprintf("part-%05d.csv", i)); err == nil {
				_, err = p.Write([]byte(word))
			}
			if err == nil {
				err = p.Sync()
			}
		}
		if err == nil {
			err = d.Commit()
		}
		if err != nil {
			t.Fatalf("release %d: %v", release, err)
		}
		late++
		set, err := files.Find(t.Context(), folder, ".csv")
		switch {
		case err != nil && !strings.Contains(err.Error(), "release"):
			t.Errorf("release %d, lists are %d late: %v", release, late, err)
		case err != nil:
			refused++
		default:
			read++
			for _, f := range set.Files {
				begin := make([]byte, 3)
				h, _, err := f.Open()
				if err == nil {
					_, err = h.ReadAt(begin, 0)
				}
				if err != nil || string(begin) != word || len(set.Files) != parts {
					t.Errorf("release %d, lists are %d late: %d parts, one of them %q (%v)", release, late, len(set.Files), begin, err)
				}
			}
		}
	}
	server.Thaw()
	publishWhole(t, "end", parts)
	if word, n := state(t); word != "end" || n != parts || len(server.Keys("bucket")) != parts+1 {
		t.Errorf("at the end %d parts of %q, and there are %q", n, word, server.Keys("bucket"))
	}
	t.Logf("60 releases: read %d times, refused to readers %d times", read, refused)
	if read == 0 || refused == 0 {
		t.Errorf("read %d times, refused %d times", read, refused)
	}
}
