// Command stream is a demonstration: a broker inside the process (kfake, which
// keeps everything in memory and is no broker for real use), the CPS records as a
// topic of two partitions, and the filter with its live page. It ends with
// Ctrl-C, or by itself after -for.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"syscall"
	"time"

	"github.com/parquet-go/parquet-go"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
)

// record is a line of the example.
type record struct {
	PersonID   string  `parquet:"person_id" json:"person_id"`
	Name       string  `parquet:"name" json:"name"`
	Wage       float64 `parquet:"wage" json:"wage"`
	Education  int64   `parquet:"education" json:"education"`
	Experience int64   `parquet:"experience" json:"experience"`
	Ethnicity  string  `parquet:"ethnicity" json:"ethnicity"`
	SMSA       string  `parquet:"smsa" json:"smsa"`
	Region     string  `parquet:"region" json:"region"`
	PartTime   string  `parquet:"parttime" json:"parttime"`
}

func main() {
	listen := flag.String("listen", "127.0.0.1:9464", "where the live page is served")
	rate := flag.Int("rate", 500, "records a second that come into the topic")
	during := flag.Duration("for", 0, "end after this time; 0: when it is interrupted, or all records have come")
	program := flag.String("program", "bin/sdlfilter", "the filter")
	config := flag.String("config", "examples/stream/pipeline.yaml", "its configuration")
	data := flag.String("data", "examples/cps/cps1988.parquet", "the records")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if *during > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *during)
		defer cancel()
	}
	if err := run(ctx, *listen, *rate, *program, *config, *data); err != nil {
		fmt.Fprintln(os.Stderr, "stream:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, listen string, rate int, program, config, data string) error {
	records, err := parquet.ReadFile[record](data)
	if err != nil {
		return err
	}
	broker,
		err := kfake.NewCluster(kfake.NumBrokers(1),
		kfake.SeedTopics(2, "cps", "cps-masked", "cps-snapshots", "cps-quarantine"))
	if err != nil {
		return err
	}
	defer broker.Close()
	address := broker.ListenAddrs()[0]
	client,
		err := kgo.NewClient(kgo.SeedBrokers(address), kgo.DefaultProduceTopic("cps"),
		kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()

	fmt.Printf("A demonstration: the broker at %s is inside this process and keeps nothing.\n", address)
	fmt.Printf("%d records of the 1988 Current Population Survey come into the topic cps, %d a second;\n", len(records),
		rate)
	fmt.Printf("the filter releases them into cps-masked. Watch it at http://%s/ and end it with Ctrl-C.\n\n", listen)
	filter := exec.Command(program, "run", config, "--listen", listen)
	filter.Env = append(os.Environ(), "SDLFILTER_BROKER="+address)
	filter.Stdout, filter.Stderr = os.Stdout, os.Stderr
	filter.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for the demonstration, which tells it
	if err := filter.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- filter.Wait() }()

	err = feed(ctx, client, records, rate, ended)
	select {
	case early := <-ended:
		return errors.Join(err, early)
	default:
	}
	if err := filter.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := errors.Join(err, <-ended); err != nil {
		return err
	}
	return show(address)
}

// feed produces the records at a steady rate until they are used up or the
// demonstration ends.
func feed(ctx context.Context, client *kgo.Client, records []record, rate int, ended chan error) error {
	const turns = 10 // a second
	tick := time.NewTicker(time.Second / turns)
	defer tick.Stop()
	for len(records) > 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		case err := <-ended:
			ended <- err
			return nil
		}
		n := min(max(rate/turns, 1), len(records))
		for _, r := range records[:n] {
			value, err := json.Marshal(r)
			if err != nil {
				return err
			}
			client.Produce(ctx, &kgo.Record{Value: value}, nil)
		}
		records = records[n:]
	}
	fmt.Println("All records have come; Ctrl-C ends the filter.")
	<-ctx.Done()
	return nil
}

// show prints the first released records.
func show(address string) error {
	client,
		err := kgo.NewClient(kgo.SeedBrokers(address), kgo.ConsumeTopics("cps-masked"),
		kgo.FetchIsolationLevel(kgo.ReadCommitted()), kgo.MetadataMinAge(100*time.Millisecond))
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	fmt.Println("\nThe first records of cps-masked:")
	for _, r := range client.PollRecords(ctx, 5).Records() {
		if _, err := io.WriteString(os.Stdout, "  "+string(r.Value)+"\n"); err != nil {
			return err
		}
	}
	return nil
}
