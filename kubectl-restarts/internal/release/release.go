// Package release says how a rollout stands that takes steps, and what a person may write to the Deployment to let it go on or to
// abort it, as the deployment engine says in its conditions. It makes no requests.
package release

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"strings"

	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/catalog/workload"
)

// Rollout is how a rollout stands that takes steps.
type Rollout struct {
	// ReplicaSet is the new one, empty if the rollout does not wait, and At the step in words, such as "step 2 of 3 (25%)".
	ReplicaSet, At string
	// Promote and Abort are the values of [annotation.PromoteAnnotation] that ends the step, and of [annotation.AbortAnnotation].
	// One that is empty has no effect now; WhyNotPromote and WhyNotAbort say why, and what to do.
	Promote, Abort             string
	WhyNotPromote, WhyNotAbort string
	// Retry is the value of [annotation.RetryAnnotation] that tries a release again which has failed and fallen back, empty for another.
	Retry               string
	IsRestart, IsPaused bool
}

// The message of the deployment engine begins like this. What follows has words of others, before the values.
var waits = regexp.MustCompile(`^The (?:release|restart) waits at ([^,]+), with \d+ of \d+ pods of ReplicaSet "([^"]+)"(?:, of which \d+ are not available)?\. `)

// cannotGoOn begins what the message says of a list of steps that cannot be read.
const cannotGoOn = "It cannot go on: "

// ErrUnobserved is that the status of a Deployment is older than its last change, as it is for a moment after each.
var ErrUnobserved = errors.New("no controller has seen its last change yet")

// RolloutOf returns how the rollout of a Deployment stands. The error is [ErrUnobserved].
func RolloutOf(d *appsv1.Deployment) (Rollout, error) {
	parts := workload.PartsOfDeployment(d)
	if !parts.Rollout.Observed {
		return Rollout{}, ErrUnobserved
	}
	r := Rollout{IsPaused: d.Spec.Paused, IsRestart: parts.Rollout.Course == workload.RestartTakesSteps}
	switch {
	case parts.FellBack != "":
		r.Retry = valueIn(parts.FellBack, annotation.RetryAnnotation)
		r.WhyNotPromote = "its release has failed and fallen back, so it waits at no step; to try it again: " + command("kubectl restarts retry", d)
		r.WhyNotAbort = r.WhyNotPromote
		return r, nil
	case parts.Stepping == "":
		r.WhyNotAbort = "no rollout of it takes steps; to go back: " + command("kubectl rollout undo", d)
	}
	r.Promote, r.Abort = valueIn(parts.Stepping, annotation.PromoteAnnotation), valueIn(parts.Stepping, annotation.AbortAnnotation)
	if r.Abort == "" && parts.Stepping != "" {
		r.WhyNotAbort = "it was aborted already; to go back: " + command("kubectl rollout undo", d)
	}
	begins := waits.FindStringSubmatch(parts.AtStep)
	if begins == nil {
		r.Promote, r.WhyNotPromote = "", "it does not wait at a step; see how far it is with: "+command("kubectl rollout status", d)
		return r, nil
	}
	r.At, r.ReplicaSet = begins[1], begins[2]
	if wrong, cannot := strings.CutPrefix(strings.TrimPrefix(parts.AtStep, begins[0]), cannotGoOn); cannot {
		wrong, _, _ = strings.Cut(wrong, ". To abort it, ")
		r.Promote, r.WhyNotPromote = "", wrong+"; correct the annotation, or let all steps end with --all"
	}
	return r, nil
}

// valueIn returns the last value that a message names for an annotation: words of others come before.
func valueIn(message, key string) string {
	found := regexp.MustCompile(`(?s).*\b` + regexp.QuoteMeta(key) + ` to (\S+?)[;.](?: |$)`).FindStringSubmatch(message)
	if found == nil {
		return ""
	}
	return found[1]
}

// command names a command about a Deployment.
func command(name string, d *appsv1.Deployment) string {
	return fmt.Sprintf("%s -n %s deployment/%s", name, d.Namespace, d.Name)
}

// PromoteAll returns the value of [annotation.PromoteAnnotation] that ends all steps of the attempt that [Rollout.Abort] names. It is not
// the present one, which may be from before.
func (r *Rollout) PromoteAll(present string) string {
	_, attempt, _ := strings.Cut(r.Abort, "/")
	if attempt = cmp.Or(attempt, "1"); attempt == "1" && present != r.ReplicaSet {
		return r.ReplicaSet
	}
	return r.ReplicaSet + "/all/" + attempt
}
