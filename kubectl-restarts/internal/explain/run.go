package explain

import (
	"fmt"
	"io"

	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/facts"
	"kubernetes-deployment-restart-controller/kubectl-restarts/internal/text"
)

// RunReport explains a CronJob or a Job.
type RunReport struct {
	Namespace  string      `json:"namespace"`
	Run        string      `json:"run"`
	Conclusion string      `json:"conclusion"`
	Configs    []ConfigRow `json:"configs"`
}

// Run explains why a CronJob or a Job is not restarted, and what it reads.
func Run(run *facts.Run) RunReport {
	in := Input{Workload: run.Reader()}
	report := RunReport{
		Namespace: run.Namespace, Run: run.String(), Configs: in.configs(),
		Conclusion: fmt.Sprintf("%s in %s needs no restart: %s.", run, run.Namespace, facts.NoRestart),
	}
	for i := range report.Configs {
		report.Configs[i].Content = "" // a run has no record to compare it with
	}
	return report
}

// Print writes the report for a person.
func (r *RunReport) Print(w io.Writer) error {
	fmt.Fprintln(w, text.Safe(r.Conclusion))
	if len(r.Configs) == 0 {
		_, err := fmt.Fprintln(w, "It reads no ConfigMap or Secret.")
		return err
	}
	fmt.Fprintln(w)
	return printConfigs(w, configsTable(r.Configs, false), len(r.Configs))
}
