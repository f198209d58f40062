// Command streambench measures the program on a stream and prints the results as
// Markdown: from topic to topic in comparison with a bare copy, with an in-process
// broker, from file to file, and the time from a record's production to its release.
// scripts/bench-stream.sh runs it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// options are common to all measurements.
type options struct {
	brokers    []string
	filter     string
	copy       string // path of the bare copy
	fake       string // path of the in-process broker
	records    int64
	runs       int
	interval   time.Duration // of commits
	dir        string
	replicates int
	partitions []int32 // of the topics, one measurement after another
}

func main() {
	var o options
	brokers := flag.String("brokers", "", "addresses of the real brokers, separated by commas")
	flag.StringVar(&o.filter, "filter", "", "the program")
	flag.StringVar(&o.copy, "copy", "", "cmd/barecopy, built")
	flag.StringVar(&o.fake, "fake", "", "cmd/fakebroker, built")
	flag.Int64Var(&o.records, "records", 4_000_000,
		"records of a run to begin with; more where it is over before a rate can be told")
	flag.IntVar(&o.runs, "runs", 5, "runs of each, in turn")
	flag.DurationVar(&o.interval, "interval", time.Second, "of commits")
	flag.IntVar(&o.replicates, "replicates", 200, "of the assessment")
	only := flag.String("only", "copy,fake,files,latency", "which measurements")
	flag.Func("partitions", "of the topics, separated by commas; 1,4,16 by default", func(text string) error {
		for part := range strings.SplitSeq(text, ",") {
			n, err := strconv.ParseInt(part, 10, 32)
			if err != nil || n < 1 {
				return fmt.Errorf("%q is no number of partitions", part)
			}
			o.partitions = append(o.partitions, int32(n))
		}
		return nil
	})
	flag.Parse()
	if o.partitions == nil {
		o.partitions = []int32{1, 4, 16}
	}
	o.brokers = strings.Split(*brokers, ",")
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	if err := run(ctx, o, strings.Split(*only, ",")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options, only []string) (err error) {
	if o.dir, err = os.MkdirTemp("", "streambench-"); err != nil {
		return err
	}
	defer os.RemoveAll(o.dir)
	for _, m := range []struct {
		name    string
		measure func(context.Context, options) error
	}{{"copy", besideCopy}, {"fake", againstFake}, {"files", betweenFiles}, {"latency", latency}} {
		if !slices.Contains(only, m.name) {
			continue
		}
		if err := m.measure(ctx, o); err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
	}
	return nil
}

// median returns the median of v, which it does not change.
func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}

// ratio returns the median of the ratios of measurements in the same turn: other load on the
// machine changes more from turn to turn than within one.
func ratio(of [2][]float64) float64 {
	all := make([]float64, len(of[0]))
	for k := range all {
		all[k] = of[0][k] / of[1][k]
	}
	return median(all)
}

// thousands writes a number with separated thousands.
func thousands(v float64) string {
	text := fmt.Sprintf("%.0f", v)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}
