package csv

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sdlfilter/sdlfilter/connectors"
)

// A rejected record is not written, wherever it stands and however its block is written: fields
// replaced in the original text, fields selected from it, or text written anew.
func TestRejectedRecordsAreNotWritten(t *testing.T) {
	const n = 6
	record := func(i int) string { return fmt.Sprintf("%d,\"k, %d\",w%d\n", i, i, i) }
	in := "a,b,c\n"
	for i := range n {
		in += record(i)
	}
	for _, c := range []struct {
		name  string
		job   job
		write func(i int) string
	}{
		{"as it came", job{}, record},
		{"patched", job{mask: []string{"a"}}, func(i int) string { return fmt.Sprintf("%d,\"k, %d\",w%d\n", i+1, i, i) }},
		{"picked", job{release: []string{"c", "a"}}, func(i int) string { return fmt.Sprintf("w%d,%d\n", i, i) }},
		{"picked and masked", job{release: []string{"c", "a"}, mask: []string{"a"}}, func(i int) string {
			return fmt.Sprintf("w%d,%d\n", i, i+1)
		}},
		{"made anew", job{decode: true}, record},
		{"in another dialect", job{sink: SinkConfig{Delimiter: ";"}}, func(i int) string {
			return fmt.Sprintf("%d;k, %d;w%d\n", i, i, i)
		}},
		{"made anew and masked", job{decode: true, mask: []string{"a"}}, func(i int) string {
			return fmt.Sprintf("%d,\"k, %d\",w%d\n", i+1, i, i)
		}},
	} {
		for _, reject := range [][]int{{0}, {n - 1}, {2}, {0, 1}, {2, 3}, {0, 2, 4}, {n - 2, n - 1}, {0, 1, 2, 3, 4, 5}} {
			for _, cut := range []connectors.Cut{{}, {Records: 2, Exact: true}} {
				want := "a,b,c\n"
				if c.job.release != nil {
					want = strings.Join(c.job.release, ",") + "\n"
				}
				if c.job.sink.Delimiter != "" {
					want = strings.ReplaceAll(want, ",", c.job.sink.Delimiter)
				}
				gone := map[int]bool{}
				for _, i := range reject {
					gone[i] = true
				}
				for i := range n {
					if !gone[i] {
						want += c.write(i)
					}
				}
				j := c.job
				j.reject, j.cut = reject, cut
				if res, err := j.run(t, in); err != nil || res.out != want {
					t.Errorf("%s, without %v, %+v: got %q, %v; want %q", c.name, reject, cut, res.out, err, want)
				}
			}
		}
	}
}
