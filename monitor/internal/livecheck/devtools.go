package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
)

// browser speaks to Chromium over the pipe of --remote-debugging-pipe: messages
// of the DevTools protocol, each ended by a zero byte.
type browser struct {
	command *exec.Cmd
	to      *os.File
	from    *os.File

	mu      sync.Mutex
	last    int
	answers map[int]chan message
	session string
	events  []message
	closed  chan struct{}
}

type message struct {
	ID        int             `json:"id,omitempty"`
	SessionID string          `json:"sessionId,omitempty"`
	Method    string          `json:"method,omitempty"`
	Params    json.RawMessage `json:"params,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *struct {
		Message string `json:"message"`
	} `json:"error,omitempty"`
}

// start opens a headless browser with a profile of its own. Names of hosts lead
// nowhere; only addresses are reached.
func start(ctx context.Context, path, profile string) (*browser, error) {
	theirs, to, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	from, ours, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirs.Close(), to.Close())
	}
	b := &browser{to: to, from: from, answers: map[int]chan message{}, closed: make(chan struct{})}
	b.command = exec.CommandContext(ctx, path, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--disable-quic",
		"--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--user-data-dir="+profile, "--remote-debugging-pipe", "about:blank")
	b.command.ExtraFiles = []*os.File{theirs, ours} // file descriptors 3 and 4
	err = b.command.Start()
	err = errors.Join(err, theirs.Close(), ours.Close())
	if err != nil {
		return nil, errors.Join(err, to.Close(), from.Close())
	}
	go b.read()
	return b, nil
}

// read takes in answers and events until the browser ends.
func (b *browser) read() {
	defer close(b.closed)
	r := bufio.NewReaderSize(b.from, 1<<20)
	for {
		text, err := r.ReadBytes(0)
		if err != nil {
			return
		}
		var m message
		if json.Unmarshal(text[:len(text)-1], &m) != nil {
			continue
		}
		b.mu.Lock()
		if m.Method != "" {
			b.events = append(b.events, m)
		} else if answer := b.answers[m.ID]; answer != nil {
			delete(b.answers, m.ID)
			answer <- m
		}
		b.mu.Unlock()
	}
}

// call sends a command and decodes its result into result, unless that is nil.
func (b *browser) call(ctx context.Context, method string, params, result any) error {
	raw, err := json.Marshal(params)
	if err != nil {
		return err
	}
	answer := make(chan message, 1)
	b.mu.Lock()
	b.last++
	m := message{ID: b.last, SessionID: b.session, Method: method, Params: raw}
	b.answers[m.ID] = answer
	text, err := json.Marshal(m)
	if err == nil {
		_, err = b.to.Write(append(text, 0))
	}
	b.mu.Unlock()
	if err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	select {
	case m = <-answer:
	case <-b.closed:
		return fmt.Errorf("%s: the browser has ended", method)
	case <-ctx.Done():
		return fmt.Errorf("%s: %w", method, ctx.Err())
	}
	if m.Error != nil {
		return fmt.Errorf("%s: %s", method, m.Error.Message)
	}
	if result == nil {
		return nil
	}
	return json.Unmarshal(m.Result, result)
}

// attach opens a tab and directs all further calls to it.
func (b *browser) attach(ctx context.Context) error {
	var target struct {
		TargetID string `json:"targetId"`
	}
	if err := b.call(ctx, "Target.createTarget", map[string]any{"url": "about:blank"}, &target); err != nil {
		return err
	}
	var attached struct {
		SessionID string `json:"sessionId"`
	}
	if err := b.call(ctx, "Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached); err != nil {
		return err
	}
	b.mu.Lock()
	b.session = attached.SessionID
	b.mu.Unlock()
	for _, domain := range []string{"Page", "Runtime", "Log", "Network"} {
		if err := b.call(ctx, domain+".enable", map[string]any{}, nil); err != nil {
			return err
		}
	}
	return nil
}

// evaluate runs an expression in the page and decodes what it, or the promise
// that it is, comes to.
func (b *browser) evaluate(ctx context.Context, expression string, result any) error {
	var answer struct {
		Result struct {
			Value json.RawMessage `json:"value"`
		} `json:"result"`
		Exception *struct {
			Text string `json:"text"`
		} `json:"exceptionDetails"`
	}
	err := b.call(ctx, "Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &answer)
	if err != nil {
		return err
	}
	if answer.Exception != nil {
		return fmt.Errorf("evaluate: %s", answer.Exception.Text)
	}
	return json.Unmarshal(answer.Result.Value, result)
}

// seen returns the events since the last call.
func (b *browser) seen() []message {
	b.mu.Lock()
	defer b.mu.Unlock()
	events := b.events
	b.events = nil
	return events
}

// stop closes the browser and waits for it.
func (b *browser) stop(ctx context.Context) error {
	b.mu.Lock()
	b.session = ""
	b.mu.Unlock()
	err := b.call(ctx, "Browser.close", map[string]any{}, nil)
	if errors.Is(err, io.EOF) || err != nil {
		_ = b.command.Process.Kill() // it does not answer
	}
	_ = b.command.Wait() // its exit status says nothing about the page
	<-b.closed
	return errors.Join(b.to.Close(), b.from.Close())
}
