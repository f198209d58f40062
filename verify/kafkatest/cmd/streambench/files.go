package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/process"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/survey"
)

// connectCPU is the processor time of Redpanda Connect's engine for a record from file
// to file, in µs, with a mapping that perturbs two numbers and deletes one field. It was
// measured once and is not run here.
const connectCPU = 60

// betweenFiles measures JSON Lines from file to file.
func betweenFiles(ctx context.Context, o options) error {
	in := filepath.Join(o.dir, "in.jsonl")
	f, err := os.Create(in)
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	records, line := survey.Records{Seed: 1, Partitions: 1}, []byte(nil)
	for i := range o.records {
		line = append(records.At(0, i).AppendJSON(line[:0]), '\n')
		if _, err := w.Write(line); err != nil {
			return err
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	config,
		err := o.config("files", fmt.Sprintf("jsonl: {path: %q}", in),
		fmt.Sprintf("jsonl: {path: %q}", filepath.Join(o.dir, "out.jsonl")))
	if err != nil {
		return err
	}
	var rates, cpus []float64
	for k := range o.runs {
		begin := time.Now()
		p, err := process.Start(o.dir, nil, o.filter, "run", "--quiet", config)
		if err != nil {
			return err
		}
		status, err := p.Wait(10 * time.Minute)
		if err != nil || status != 0 || ctx.Err() != nil {
			p.Kill()
			return fmt.Errorf("exits %d, %v: %s", status, err, p.Tail())
		}
		rates = append(rates, float64(o.records)/time.Since(begin).Seconds())
		cpus = append(cpus, p.CPU().Seconds()*1e6/float64(o.records))
		fmt.Fprintf(os.Stderr, "files-%d: %s records/s, %.2f µs\n", k, thousands(rates[k]), cpus[k])
	}
	fmt.Printf(
		"JSON Lines from file to file, %s records, medians of %d runs: %s records/s, %.2f µs of CPU a record, 1/%.0f of the %d µs of Redpanda Connect's engine.\n\n",
		thousands(float64(o.records)), o.runs, thousands(median(rates)), median(cpus), connectCPU/median(cpus), connectCPU)
	return nil
}
