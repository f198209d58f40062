//go:build race

package rolling

// raceDetector says whether the tests run under the race detector.
const raceDetector = true
