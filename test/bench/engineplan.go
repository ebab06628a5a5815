package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"strconv"

	"kubernetes-deployment-restart-controller/test/harness"
)

const (
	planTarget    = 20.0 // µs
	planBenchmark = "BenchmarkPlanOfTenReplicaSets/rolling"
)

var planResult = regexp.MustCompile(`(?m)^BenchmarkPlanOfTenReplicaSets/rolling(?:-\d+)?\s+\d+\s+([\d.]+) ns/op`)

// measurePlan runs the engine's own benchmark of a plan.
func (b *bench) measurePlan(ctx context.Context) ([]row, error) {
	root, err := harness.RepositoryRoot()
	if err != nil {
		return nil, err
	}
	count := strconv.Itoa(b.repetitions)
	command := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "^"+planBenchmark+"$", "-count", count, "./deployment/rollout")
	command.Dir = root
	output, err := command.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("run %s: %w\n%s", command, err, output)
	}
	var times samples
	for _, found := range planResult.FindAllSubmatch(output, -1) {
		nanoseconds, err := strconv.ParseFloat(string(found[1]), 64)
		if err != nil {
			return nil, fmt.Errorf("read the result of %s: %w", planBenchmark, err)
		}
		times.add(nanoseconds / 1000)
	}
	if len(times) == 0 {
		return nil, errors.New("no result of " + planBenchmark + " in:\n" + string(output))
	}
	return []row{upTo("a plan with 10 ReplicaSets", planTarget, times, "%.1f", "µs")}, nil
}
