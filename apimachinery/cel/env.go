package cel

import (
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/checker"
	"github.com/google/cel-go/ext"
	"github.com/google/cel-go/interpreter"
)

const (
	// PerCallLimit is the maximum cost of one evaluation.
	PerCallLimit = 1_000_000
	// Budget is the maximum cost of all evaluations for one object.
	Budget = 10_000_000
	// checkFrequency is the number of comprehension steps after which an evaluation checks its context.
	checkFrequency = 100
)

// Env returns the environment that all others extend: the functions, without variables. It is created once,
// on first use.
func Env() (*cel.Env, error) { return env() }

var env = sync.OnceValues(func() (*cel.Env, error) {
	return cel.NewEnv(Options()...)
})

// Options returns the options that make up the environment of [Env].
func Options() []cel.EnvOption {
	options := []cel.EnvOption{
		cel.HomogeneousAggregateLiterals(),
		cel.EagerlyValidateDeclarations(true),
		cel.DefaultUTCTimeZone(true),
		cel.CrossTypeNumericComparisons(true),
		cel.OptionalTypes(),
		cel.ASTValidators(cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals(), cel.ValidateRegexLiterals(), cel.ValidateHomogeneousAggregateLiterals()),
		ext.Strings(ext.StringsVersion(2)),
		ext.Sets(),
		ext.TwoVarComprehensions(),
		ext.Lists(ext.ListsVersion(3)),
		cel.CostEstimatorOptions(checker.PresenceTestHasCost(false)),
	}
	for _, library := range [][]cel.EnvOption{lists(), regexes(), urls(), addresses(), ranges(), quantities(), versions(), named()} {
		options = append(options, library...)
	}
	return options
}

// ProgramOptions returns the options for programs: a cost limit, interruption by a context, and optimized
// constants.
func ProgramOptions() []cel.ProgramOption {
	return []cel.ProgramOption{
		cel.EvalOptions(cel.OptOptimize, cel.OptTrackCost),
		literalPatterns(),
		cel.CostLimit(PerCallLimit),
		cel.CostTracking(Estimator{}),
		cel.CostTrackerOptions(interpreter.PresenceTestHasCost(false)),
		cel.InterruptCheckFrequency(checkFrequency),
	}
}
