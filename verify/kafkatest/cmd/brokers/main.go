// Command brokers starts brokers that outlive it, and ends them. scripts/kafka.sh uses
// it.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/sdlfilter/sdlfilter/verify/kafkatest/brokers"
	"github.com/sdlfilter/sdlfilter/verify/kafkatest/wait"
)

// state is the data that start stores for stop.
type state struct {
	Dir  string
	PIDs []int
}

func main() {
	libs := flag.String("libs", "", "the folder of Kafka's jars")
	heap := flag.String("heap", "512m", "heap of each broker")
	path := flag.String("state", "", "where to note what runs")
	flag.Parse()
	var err error
	switch flag.Arg(0) {
	case "start":
		err = start(*path, *libs, *heap, flag.Arg(1))
	case "stop":
		err = stop(*path)
	default:
		err = errors.New("brokers: start N or stop")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func start(path, libs, heap, number string) error {
	n, err := strconv.Atoi(number)
	if err != nil {
		return fmt.Errorf("brokers: %q is not a number of brokers", number)
	}
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("brokers: %s says that brokers are running already; stop them first", path)
	}
	dir, err := os.MkdirTemp("", "sdlfilter-kafka-")
	if err != nil {
		return err
	}
	c, err := brokers.Start(context.Background(), brokers.Options{Libs: libs, N: n, Dir: dir, Heap: heap, Detach: true})
	if err != nil {
		return err
	}
	data, err := json.Marshal(state{Dir: dir, PIDs: c.PIDs()})
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		c.Stop()
		return err
	}
	fmt.Println(strings.Join(c.Addresses(), ","))
	return nil
}

func stop(path string) error {
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var s state
	if err := json.Unmarshal(data, &s); err != nil {
		return err
	}
	for _, pid := range s.PIDs {
		if ours(pid, s.Dir) {
			syscall.Kill(pid, syscall.SIGTERM)
		}
	}
	deadline := time.Now().Add(15 * time.Second)
	for _, pid := range s.PIDs {
		ended := func() bool { return !ours(pid, s.Dir) }
		if !wait.Within(time.Until(deadline), ended) {
			syscall.Kill(pid, syscall.SIGKILL)
			wait.Within(time.Minute, ended)
		}
	}
	if err := os.RemoveAll(s.Dir); err != nil {
		return err
	}
	return os.Remove(path)
}

// ours reports whether a process is a broker with its data in dir: the id may belong to
// another process by now.
func ours(pid int, dir string) bool {
	line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
	return err == nil && strings.Contains(string(line), "kafka.Kafka") && strings.Contains(string(line), dir)
}
