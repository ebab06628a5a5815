package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"kubernetes-deployment-restart-controller/test/harness"
)

// Content that comes back leaves no trace: a controller that has not seen it cannot know. So from
// time to time there is a truce, in which the controllers see all, and the driver flips a lot.
const (
	truceEvery = 45 * time.Second
	lastTruce  = 26 * time.Second // before the end of the disturbances, so that nothing makes good what it shows
	truceLimit = 15 * time.Second // for the controllers to get everything under control
	truceTime  = 14 * time.Second
	// settling is how long a controller that works may take to see what is there, and afterlife for how
	// long what a process has seen may be in its memory only: then it has restarted, or left a mark.
	settling  = 2 * time.Second
	afterlife = 15 * time.Second
)

// firstTruce returns when the first one begins, so that the last one ends with the disturbances.
func firstTruce(disturbed spell) time.Time {
	first := disturbed.end.Add(-lastTruce)
	for first.Add(-truceEvery).After(disturbed.begin) {
		first = first.Add(-truceEvery)
	}
	return first
}

// truce keeps faults and kills away for a while, which the model learns if the controllers could see
// everything meanwhile.
func (s *soak) truce(ctx context.Context) {
	s.saboteur.truce.Lock() // waits until nothing is killed, or not back yet
	defer s.saboteur.truce.Unlock()
	defer func() { s.saboteur.remembering = time.Now().Add(afterlife) }()
	s.proxy.Inject(nil)
	s.proxy.Cut()
	ready, cancel := context.WithTimeout(ctx, truceLimit)
	defer cancel()
	if err := harness.Eventually(ready, truceLimit, s.seesEverything); err != nil {
		s.judge.note("no truce: " + err.Error())
		return
	}
	pause(ctx, settling)
	begin := time.Now()
	s.driver.truce(begin.Add(truceTime - settling - longestHit))
	before := s.replicas.leasesLost()
	pause(ctx, truceTime)
	if err := s.seesEverything(ctx); err != nil || s.replicas.leasesLost() != before {
		return
	}
	end := time.Now().Add(-settling)
	s.remembered.Go(func() { // a controller that loses its lease ends, and forgets
		pause(context.WithoutCancel(ctx), afterlife)
		if s.replicas.leasesLost() == before {
			s.judge.watched(begin, end)
			s.truces.Add(1)
		}
	})
}

// seesEverything returns nil if both controllers run, all their watches work, and one leads.
func (s *soak) seesEverything(ctx context.Context) error {
	for _, c := range s.replicas.all() {
		if status, _, err := c.Get(ctx, "/readyz"); err != nil || status != http.StatusOK {
			return errors.Join(fmt.Errorf("/readyz answers %d", status), err)
		}
		if broken, err := c.Metric(ctx, "watch_broken_since_timestamp_seconds", nil); err != nil || broken != 0 {
			return errors.Join(errors.New("a watch is broken"), err)
		}
	}
	_, err := s.replicas.leader(ctx)
	return err
}
