// Command browsertest serves a monitor with artificial snapshots and tests its page in Chromium:
// browsertest [-screenshots DIR] CHROMIUM. With -boards DIR it prints the pages for the release
// board into a folder instead. It is a separate module, so that the filter does not depend on the
// browser's driver.
package main

import (
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/chromedp"

	"github.com/sdlfilter/sdlfilter/internal/monitor"
	"github.com/sdlfilter/sdlfilter/internal/synthetic"
	"github.com/sdlfilter/sdlfilter/microdata"
)

func main() {
	screenshots := flag.String("screenshots", "", "folder for pictures of the page")
	folder := flag.String("boards", "", "folder of pages for the release board, to be printed")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: browsertest [-screenshots DIR] [-boards DIR] CHROMIUM")
		os.Exit(2)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	check := func() ([]string, error) { return run(ctx, flag.Arg(0), *screenshots) }
	if *folder != "" {
		check = func() ([]string, error) { return boards(ctx, flag.Arg(0), *folder, *screenshots) }
	}
	problems, err := check()
	cancel()
	for _, p := range problems {
		fmt.Println("FAIL", p)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "browsertest:", err)
	}
	if err != nil || len(problems) > 0 {
		os.Exit(1)
	}
}

// checker collects the faults of the page.
type checker struct {
	ctx         context.Context
	b           *browser
	origin      string
	screenshots string
	problems    []string
}

func (c *checker) failf(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func run(ctx context.Context, chromium, screenshots string) (problems []string, err error) {
	profile, err := os.MkdirTemp("", "browsertest")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(profile)) }()
	m := feed()
	address, err := m.Serve(ctx, "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	defer func() { m.Close() }()
	b, err := open(ctx, chromium, profile)
	if err != nil {
		return nil, err
	}
	defer b.stop()
	c := &checker{ctx: ctx, b: b, origin: "http://" + address, screenshots: screenshots}
	if screenshots != "" {
		if err := os.MkdirAll(screenshots, 0o755); err != nil {
			return nil, err
		}
	}
	if err := c.emptyPage(); err != nil {
		return c.problems, err
	}
	if err := c.moves(m); err != nil {
		return c.problems, err
	}
	if err := c.views(m); err != nil {
		return c.problems, err
	}
	if err := c.policy(); err != nil {
		return c.problems, err
	}
	m.Close()
	if m, err = c.reconnects(address); err != nil {
		return c.problems, err
	}
	return c.problems, nil
}

// feed returns a monitor of a stream that has just begun.
func feed() *monitor.Monitor {
	m := monitor.New(monitor.Info{Name: "survey", Version: "0.4.0", Source: "kafka survey", Sink: "kafka survey-masked",
		Interval: time.Second})
	m.Heartbeat()
	m.Broker(nil)
	m.Assigned(map[string][]int32{"survey": {0, 1, 2}})
	return m
}

// turn reports one turn of a loop that commits 3 × n records.
func turn(m *monitor.Monitor, n int, lag int64) {
	m.Heartbeat()
	m.Records(microdata.Counts{Released: int64(3 * n)})
	m.Batch(12 * time.Millisecond)
	m.Commit(8*time.Millisecond, true)
	for p := range int32(3) {
		m.Lag("survey", p, lag*int64(p+1))
	}
}

const textOf = `(id => document.getElementById(id).textContent)`

// await waits until an expression of the page is true.
func (c *checker) await(what, expression string) error {
	deadline := time.Now().Add(20 * time.Second)
	for {
		held, err := evaluate[bool](c.b, "Boolean("+expression+")")
		if err == nil && held {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the page never came to %s: %w", what, errors.Join(err, c.ctx.Err()))
		}
		select {
		case <-c.ctx.Done():
			return c.ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// emptyPage opens the page before there is anything to show.
func (c *checker) emptyPage() error {
	if err := c.b.size(1280, false, false); err != nil {
		return err
	}
	if err := chromedp.Do(c.b.tab, chromedp.Navigate(c.origin+"/")); err != nil {
		return err
	}
	if err := c.await("a connection", `document.body.classList.contains("on")`); err != nil {
		return err
	}
	return c.picture("empty-1280-light")
}

// marks is an expression for the places of the map's marks by target and knowledge.
const marks = `Object.fromEntries([...document.querySelectorAll("#map .pt")].map(g => [g.getAttribute("aria-label").split(": R = ")[0],
	["cx", "cy"].map(a => Number(g.querySelector(".halo").getAttribute(a)))]))`

// moves checks that updates of the stream arrive: figures change, and after a snapshot
// with other noise a mark is at another place, with a trail from the earlier one.
func (c *checker) moves(m *monitor.Monitor) error {
	m.Snapshot(synthetic.Snapshot(1, 160))
	m.Gate(true, nil)
	turn(m, 4000, 100)
	if err := c.await("the first snapshot", `document.querySelectorAll("#map .pt").length === 8 && `+textOf+
		`("rate") !== "0"`); err != nil {
		return err
	}
	before, err := c.figures()
	if err != nil {
		return err
	}
	if before.Lag != "600" || before.Released != "12,000" || before.Commits != "1" {
		c.failf("lag %q, released %q, committed %q; want 600, 12,000, 1", before.Lag, before.Released, before.Commits)
	}
	turn(m, 24_000, 50)
	m.Snapshot(synthetic.Snapshot(2, 200))
	if err := c.await("marks on their way", `document.getAnimations().length > 0`); err != nil {
		return err
	}
	if err := c.await("the second snapshot", `document.querySelectorAll("#snapshots tr").length === 2 && `+textOf+
		`("lag") === "300"`); err != nil {
		return err
	}
	if err := c.await("another rate", textOf+`("rate") !== "`+before.Rate+`"`); err != nil {
		return err
	}
	after, err := c.figures()
	if err != nil {
		return err
	}
	if after.Released != "84,000" {
		c.failf("released %q after the second commit; want 84,000", after.Released)
	}
	c.movedLeft(before.Marks, after.Marks)
	trails, err := evaluate[int](c.b, `document.querySelectorAll("#map .trail").length`)
	if err != nil {
		return err
	}
	if trails != 8 {
		c.failf("%d of 8 marks have a trail", trails)
	}
	// After another column is chosen, the map shows that column.
	for _, column := range []string{"hours", "wage"} {
		if _, err := evaluate[bool](c.b,
			fmt.Sprintf(
				`(() => { const s = document.getElementById("column"); s.value = %q; s.dispatchEvent(new Event("change")); return true })()`, column)); err != nil {
			return err
		}
		if err := c.await("the map of "+column,
			fmt.Sprintf(`document.querySelector("#map svg").getAttribute("aria-label").includes(%q)`, column)); err != nil {
			return err
		}
	}
	return nil
}

// figures are the figures of the stream that the page shows.
type figures struct {
	Marks                        map[string][2]float64
	Rate, Lag, Released, Commits string
}

func (c *checker) figures() (figures, error) {
	return evaluate[figures](c.b, `({Marks: `+marks+`, Rate: `+textOf+`("rate"), Lag: `+textOf+`("lag"), Released: `+
		textOf+`("released"), Commits: `+
		textOf+`("committed")})`)
}

// movedLeft checks that all marks are still there and lie to the left of where they were:
// more noise lowers the efficiency.
func (c *checker) movedLeft(before, after map[string][2]float64) {
	moved := 0
	for name, was := range before {
		is, ok := after[name]
		if !ok {
			c.failf("the mark of %s has gone", name)
		}
		if is[0] < was[0]-5 {
			moved++
		}
	}
	if moved != 8 {
		c.failf("%d of 8 marks moved to the left when the noise grew", moved)
	}
}

// views checks the page in its states and sizes.
func (c *checker) views(m *monitor.Monitor) error {
	for k := 3; k <= 11; k++ {
		m.Snapshot(synthetic.Snapshot(k, 205-4*float64(k)))
		turn(m, 20_000+1500*k, int64(40+17*k%60))
		time.Sleep(150 * time.Millisecond)
	}
	if err := c.await("ten snapshots", `document.querySelectorAll("#snapshots tr").length === 10`); err != nil {
		return err
	}
	m.Quarantine(map[string]int64{"wage: not a number": 12, "not JSON": 3}, map[string]int64{"not JSON": 3})
	if err := c.await("why records were dropped",
		`!document.getElementById("dropped").hidden && document.querySelectorAll("#reasons tr").length === 2`); err != nil {
		return err
	}
	if err := c.await("lines over time and a dot plot",
		`document.querySelectorAll("#times svg .series").length === 4 && document.querySelectorAll("#dots svg .pt").length === 8`); err != nil {
		return err
	}
	if err := c.look("releasing"); err != nil {
		return err
	}
	m.Broker(errors.New("dial 127.0.0.1:9092: connection refused"))
	if err := c.await("disconnected", textOf+`("verdict-word") === "Disconnected" && `+textOf+
		`("notes").includes("Brokers not reachable since")`); err != nil {
		return err
	}
	m.Broker(nil)
	failing := synthetic.Snapshot(12, 130)
	m.Snapshot(failing)
	m.Mode(monitor.Holding)
	var rules []string
	for _, rule := range failing.Gate.Rules {
		if !rule.Passed {
			rules = append(rules, rule.Rule)
		}
	}
	m.Gate(false, rules)
	m.Records(microdata.Counts{Held: 5120})
	m.Commit(time.Millisecond, false)
	m.Reloaded(time.Now(), errors.New("masks[0].noise.sd: must be at least 0, got -3 (pipeline.yaml:17:9)"))
	if err := c.await("holding", textOf+`("verdict-word") === "Holding"`); err != nil {
		return err
	}
	broken, err := evaluate[int](c.b, `document.querySelectorAll("#rules .broken").length`)
	if err != nil {
		return err
	}
	if broken != len(rules) {
		c.failf("%d rules are shown as broken, want %d", broken, len(rules))
	}
	if err := c.look("holding"); err != nil {
		return err
	}
	m.Mode(monitor.Stopped)
	if err := c.await("stopped", textOf+`("verdict-word") === "Stopped"`); err != nil {
		return err
	}
	return c.look("stopped")
}

// look checks the page from wide to narrow, in light and dark.
func (c *checker) look(state string) error {
	for _, width := range []int{1280, 768, 400, 360} {
		for _, dark := range []bool{false, true} {
			if err := c.lookAt(state, width, dark); err != nil {
				return err
			}
		}
	}
	return nil
}

// lookAt checks the page in one width and colour scheme, and stores a screenshot in the widths
// of a desktop and a phone.
func (c *checker) lookAt(state string, width int, dark bool) error {
	if err := c.b.size(width, dark, true); err != nil {
		return err
	}
	slim := 680
	if width <= 560 {
		slim = 328
	}
	if err := c.await("a map of the right size",
		fmt.Sprintf(`document.querySelector("#map svg").getAttribute("width") === "%d"`, slim)); err != nil {
		return err
	}
	scheme := "light"
	if dark {
		scheme = "dark"
	}
	name := fmt.Sprintf("%s-%d-%s", state, width, scheme)
	page, err := evaluate[measurement](c.b, probe)
	if err != nil {
		return err
	}
	if page.Overflow != 0 {
		c.failf("%s: scrolls sideways by %d px", name, page.Overflow)
	}
	// WCAG 2 AA requires 4.5 for text of ordinary size.
	if page.Contrast < 4.5 {
		c.failf("%s: contrast %.2f at %s", name, page.Contrast, page.Where)
	}
	if width == 768 || width == 360 {
		return nil
	}
	return c.picture(name)
}

// measurement is the result of probe.
type measurement struct {
	Overflow int     `json:"overflow"`
	Contrast float64 `json:"contrast"`
	Where    string  `json:"where"` // the element of that contrast
}

// probeJS is the function that scripts/test-browser.sh puts into other pages, too.
//
//go:embed probe.js
var probeJS string

// probe measures how far the page scrolls horizontally and the least contrast of text.
var probe = "(() => {" + probeJS + "return probe() })()"

// picture stores a screenshot of the whole page.
func (c *checker) picture(name string) error {
	if c.screenshots == "" {
		return nil
	}
	png, err := chromedp.Run(c.b.tab, chromedp.FullScreenshot(100))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.screenshots, "live-"+name+".png"), png, 0o600)
}

// policy checks that the page's content security policy is effective: inline scripts
// and styles and other origins are refused, and the browser reports that. It consumes
// the events before it.
func (c *checker) policy() error {
	c.quiet()
	ran,
		err1 := evaluate[bool](c.b,
		`(() => { const s = document.createElement("script"); s.textContent = "window.ran = true"; document.head.append(s); return Boolean(window.ran) })()`)
	styled,
		err2 := evaluate[bool](c.b,
		`(() => { const s = document.createElement("style"); s.textContent = "h1 { letter-spacing: 9px }"; document.head.append(s);
			return getComputedStyle(document.querySelector("h1")).letterSpacing === "9px" })()`)
	asked, err3 := evaluate[bool](c.b, `fetch("http://127.0.0.1:1/").then(() => true, () => false)`)
	err := errors.Join(err1, err2, err3)
	if err != nil {
		return err
	}
	if ran || styled || asked {
		c.failf("the content security policy lets a foreign script (%v), style (%v) or request (%v) through", ran, styled,
			asked)
	}
	complaints := 0
	for _, e := range c.b.seen() {
		if e, ok := e.(*log.EventEntryAdded); ok && strings.Contains(e.Entry.Text, "Content Security Policy") {
			complaints++
		}
	}
	// This also tests that quiet would see such errors: they are on the console.
	if complaints < 3 {
		c.failf("the browser reported %d of 3 breaches of the policy", complaints)
	}
	return nil
}

// quiet checks that since the last call of seen the page sent no request to another
// origin and wrote no error to the console.
func (c *checker) quiet() {
	requests := 0
	for _, e := range c.b.seen() {
		switch e := e.(type) {
		case *network.EventRequestWillBeSent:
			u, err := url.Parse(e.Request.URL)
			if err != nil || u.Scheme != "data" && u.Scheme+"://"+u.Host != c.origin {
				c.failf("a request to %s", e.Request.URL)
			}
			requests++
		default:
			c.failf("on the console: %+v", e)
		}
	}
	fmt.Printf("  %d requests, all of them to the page's own server\n", requests)
}

// reconnects checks that the page shows when the server is gone, and continues by itself
// when it is back.
func (c *checker) reconnects(address string) (*monitor.Monitor, error) {
	m := feed()
	lost := `document.body.classList.contains("lost") && !document.getElementById("alarm").hidden`
	if err := c.await("the loss of its connection", lost); err != nil {
		return m, err
	}
	if err := c.picture("lost-360-dark"); err != nil {
		return m, err
	}
	m.Snapshot(synthetic.Snapshot(1, 170))
	if _, err := m.Serve(c.ctx, address); err != nil {
		return m, err
	}
	back :=
		`document.body.classList.contains("on") && document.getElementById("alarm").hidden && document.querySelectorAll("#snapshots tr").length === 1`
	return m, c.await("another connection", back)
}
