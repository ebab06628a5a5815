package handover

import (
	"log/slog"

	"github.com/prometheus/client_golang/prometheus"
	appsv1 "k8s.io/api/apps/v1"

	"kubernetes-deployment-restart-controller/deployment/deploymenttest"
	"kubernetes-deployment-restart-controller/deployment/rollout"
	"kubernetes-deployment-restart-controller/internal/series"
)

var (
	noon     = deploymenttest.Noon
	noonPlus = deploymenttest.NoonPlus
	statusBy = deploymenttest.StatusBy
	expect   = deploymenttest.Expect
)

// newMonitor returns a Monitor with what the tests do not choose.
func newMonitor(options Options) *Monitor {
	options.ForeignWrites = series.NewCounter(prometheus.CounterOpts{Name: "writes_total", Help: "Foreign writes."}, "manager", 20)
	options.FalseAlarms = prometheus.NewCounter(prometheus.CounterOpts{Name: "alarms_total", Help: "False alarms."})
	options.Log = slog.New(slog.DiscardHandler)
	return New(options)
}

// web is the Deployment that others write to.
func web(change func(*appsv1.Deployment)) *rollout.Deployment {
	return rollout.NewDeployment(deploymenttest.Deployment(3, "v1", change))
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
