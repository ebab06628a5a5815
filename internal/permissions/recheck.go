package permissions

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"

	"kubernetes-deployment-restart-controller/internal/apiclient"
)

// Each missing permission is checked again after recheckPeriod, or in its turn if there are so many that this would be more than
// one request in recheckPause: a person may leave one out on purpose in each of very many namespaces. Whoever grants one grants
// others, so once one is there, maxRechecked others are checked at once.
const (
	recheckPeriod = 10 * time.Second
	recheckPause  = time.Second
	maxRechecked  = 50
)

// All permissions are checked again after a refusal for lack of one, but only after wholePeriod, and after wholeShare for each:
// refusals may begin all the time, and there may be very many permissions.
const (
	wholePeriod = time.Minute
	wholeShare  = 100 * time.Millisecond
)

// Check checks all permissions once the API server answers, and again after something was refused. It logs each that it finds
// missing, checks those again until they are granted or the context ends, and passes on those that were granted, after each check.
func (m *Missing) Check(ctx context.Context, config *rest.Config, all []apiclient.Permission, refused <-chan struct{}, onGranted func([]apiclient.Permission), log *slog.Logger) {
	unanswered := wait.Backoff{Duration: recheckPause, Factor: 2, Steps: 6, Cap: time.Minute}
	backoff, permissions, next, end := unanswered, all, 0, len(all)
	whole := wholeChecks{refused: refused, period: max(wholePeriod, time.Duration(len(all))*wholeShare), last: time.Now()}
	for {
		var pause time.Duration
		asked := permissions[next:end]
		if missing, err := apiclient.Missing(ctx, config, asked); err != nil {
			log.Debug("cannot check permissions, trying again", "error", err)
			pause = backoff.Step()
		} else {
			backoff = unanswered
			permissions = slices.Concat(permissions[:next], missing, permissions[end:])
			granted := m.see(permissions, asked, missing, log)
			log.Debug("permissions checked", "checked", len(asked), "missing", len(missing))
			if next += len(missing); next >= len(permissions) { // each has had its turn
				next = 0
			}
			end, pause = next+1, max(recheckPause, recheckPeriod/time.Duration(max(1, len(permissions))))
			if len(granted) > 0 {
				onGranted(granted)
				end, pause = next+maxRechecked, 0
			}
			end = min(end, len(permissions))
		}
		var again <-chan time.Time // never, if none is missing
		if len(permissions) > 0 {
			again = time.After(pause)
		}
		isDue, err := whole.await(ctx, again)
		if err != nil {
			return
		}
		if isDue {
			permissions, next, end = all, 0, len(all)
		}
	}
}

// wholeChecks says when all permissions are to be checked again.
type wholeChecks struct {
	refused <-chan struct{}
	period  time.Duration
	last    time.Time        // when they were
	due     <-chan time.Time // nil unless something was refused since
}

// await waits until some permissions are to be checked again, or all are, or the context ends. They are not checked at once after a
// refusal: another API server that answers may learn a little later what has been taken away.
func (c *wholeChecks) await(ctx context.Context, again <-chan time.Time) (isDue bool, err error) {
	for {
		select {
		case <-c.refused:
			if c.due == nil {
				c.due = time.After(max(recheckPause, time.Until(c.last.Add(c.period))))
			}
		case <-c.due:
			c.last, c.due = time.Now(), nil
			return true, nil
		case <-again:
			return false, nil
		case <-ctx.Done():
			return false, ctx.Err()
		}
	}
}
