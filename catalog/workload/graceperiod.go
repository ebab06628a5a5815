package workload

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"kubernetes-deployment-restart-controller/catalog/annotation"
	"kubernetes-deployment-restart-controller/internal/values"
)

// LongestGracePeriod is the longest grace period that a workload may have. Changes are remembered until it ends.
const LongestGracePeriod = 24 * time.Hour

// GracePeriod is what the annotation of a workload says about how long changes are held back for it. Nil stands for a
// workload without the annotation. It is never modified, and two of them can be compared.
type GracePeriod struct {
	// Period is how long, if the annotation can be read.
	Period time.Duration
	// Unread means that it cannot be read, so that the controller's default counts.
	Unread bool
	// Problem describes what is wrong with the annotation, and is empty if it is valid. A period that is too long is read.
	Problem string
}

// readGracePeriod reads the workload's own grace period, if it has one. One that is too long counts as the longest.
func readGracePeriod(meta *metav1.ObjectMeta) *GracePeriod {
	text, found := meta.Annotations[annotation.GracePeriodAnnotation]
	if !found {
		return nil
	}
	parsed, err := values.Duration(text)
	switch {
	case err != nil:
		return unreadGracePeriod("%v", err)
	case parsed < 0:
		return unreadGracePeriod("%.40q is negative", text)
	case parsed > LongestGracePeriod:
		return &GracePeriod{
			Problem: fmt.Sprintf("annotation %s: %.40q is longer than a day", annotation.GracePeriodAnnotation, text), Period: LongestGracePeriod,
		}
	}
	return &GracePeriod{Period: parsed}
}

func unreadGracePeriod(problem string, about any) *GracePeriod {
	return &GracePeriod{Problem: fmt.Sprintf("annotation %s: "+problem, annotation.GracePeriodAnnotation, about), Unread: true}
}

// Own returns the workload's own grace period, and false if the controller's default counts.
func (g *GracePeriod) Own() (period time.Duration, isOwn bool) {
	if g == nil || g.Unread {
		return 0, false
	}
	return g.Period, true
}

// Or returns how long changes are held back for the workload, given the controller's default.
func (g *GracePeriod) Or(standard time.Duration) time.Duration {
	if own, isOwn := g.Own(); isOwn {
		return own
	}
	return standard
}

// ProblemWith describes why the workload's own grace period cannot be used, and what is used instead: the standard, unless
// it was too long. It is empty if nothing is wrong.
func (g *GracePeriod) ProblemWith(standard string) string {
	if g == nil || g.Problem == "" {
		return ""
	}
	if own, isOwn := g.Own(); isOwn {
		standard = own.String()
	}
	return g.Problem + "; " + standard + " is used instead"
}
