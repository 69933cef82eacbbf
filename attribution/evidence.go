package attribution

// Confidences. They are shares of bytes that a rule gets right on captures with
// known truth, rounded down; TestCalibration holds them to it.
const (
	certain  = .97 // the stack names the place in PyTorch where this is made
	strong   = .95 // the stack and the lifetime agree
	good     = .93 // thread, lifetime and size agree
	likely   = .85 // two of these agree
	fair     = .8
	probable = .75 // one alone, with nothing against it
	weak     = .6  // the best guess among two
	guess    = .3  // little more than what is left over
	nothing  = .1
)

// Labels that rules give. Where a rule's confidence depends on more, it is
// changed with at.
var (
	// The optimizer.
	stateLoaded   = Label{"made by Optimizer.load_state_dict", strong, OptimizerState}
	stateInit     = Label{"made where the optimizer makes its state", .98, OptimizerState}
	stateKept     = Label{"made in an optimizer step and kept", strong, OptimizerState}
	stateOlder    = Label{"made in an optimizer step before the history began", certain, OptimizerState}
	stateFirst    = Label{"made in a first optimizer step, still alive at its end", likely, OptimizerState}
	stateRunning  = Label{"made in an optimizer step not yet over", weak, OptimizerState}
	stepScratch   = Label{"made and freed within one optimizer step", strong, Temporary}
	stepRunning   = Label{"scratch of an optimizer step not yet over", weak, Temporary}
	stepCutOff    = Label{"made in an optimizer step whose end was not read", guess, Unknown}
	clipScratch   = Label{"gradient clipping or scaling", .9, Temporary}
	scalerState   = Label{"state of the gradient scaler", weak, Buffer}
	graphScratch  = Label{"made for a CUDA graph's capture", .5, Temporary}
	moduleScratch = Label{"made and freed while a module was built", likely, Temporary}

	// The model.
	paramApplied = Label{"moved or converted by Module._apply", certain, Parameter}
	paramBuilt   = Label{"made in a torch.nn constructor", strong, Parameter}
	paramShard   = Label{"FSDP shard made at wrapping", .96, Parameter}
	paramInit    = Label{"made by parameter initialisation and kept", .7, Parameter}
	initScratch  = Label{"made by parameter initialisation and freed", .7, Temporary}
	bufferApply  = Label{"moved on the line of Module._apply that moves buffers", .9, Buffer}
	bufferCopied = Label{"tensor copied by deepcopy", probable, Buffer}

	// Constructors and files of the user's: what gradients say about them.
	userParam     = Label{"made in a constructor, has a gradient of its size", .92, Parameter}
	userState     = Label{"made in a constructor, optimizer state has its size", .9, Parameter}
	userRepeated  = Label{"made in a constructor that ran many times, no backward seen yet", weak, Parameter}
	userBuffer    = Label{"made in a constructor, no gradient of its size", weak, Buffer}
	userScratch   = Label{"made and freed in a constructor", .7, Temporary}
	userUnknown   = Label{"made in a constructor", guess, Unknown}
	loadedScratch = Label{"loaded and freed before use", .7, Temporary}
	loadedParam   = Label{"loaded, has a gradient of its size", likely, Parameter}
	loadedAlone   = Label{"loaded from a file", weak, Parameter}
	loadedUnknown = Label{"loaded from a file, no gradient of its size", guess, Unknown}
	lateParam     = Label{"made before the first forward, alive through every step, gradient of its size", probable, Parameter}

	// Libraries.
	workspaceFrame = Label{"cuBLAS handle or workspace frame", certain, Workspace}
	workspaceMain  = Label{"cuBLAS workspace: made once in a matmul line, never freed", .92, Workspace}
	workspaceLt    = Label{"cuBLASLt workspace: made once, never freed", likely, Workspace}
	workspaceAuto  = Label{"first allocation of the cuBLAS size on the autograd thread, never freed", good, Workspace}
	commFrame      = Label{"collective or all-gather frame", likely, Communication}
	commBackward   = Label{"collective's buffer in a backward", fair, Communication}
	ddpBucket      = Label{"DDP gradient bucket", .9, Communication}
	ddpView        = Label{"DDP bucket that holds the gradients (gradient_as_bucket_view)", probable, Gradient}
	dataFrame      = Label{"data loading frame", likely, Input}

	// The backward.
	gradReduced    = Label{"FSDP reduce output that outlives the backward", good, Gradient}
	gradParam      = Label{"made in a backward, outlives it, size of a parameter", certain, Gradient}
	gradOlder      = Label{"made in a backward, outlives it, size of older memory", good, Gradient}
	gradAlone      = Label{"made in a backward and outlives it", fair, Gradient}
	inFlight       = Label{"more of this size than parameters, in a backward not yet over", weak, AutogradDetail}
	recomputed     = Label{"recomputed by checkpoint inside a backward", .9, Activation}
	backScratch    = Label{"made and freed within one backward", strong, Temporary}
	backOnce       = Label{"made and freed within one backward, the only one of its size", .9, Temporary}
	backUnfinished = Label{"alive in a backward not yet over, no parameter size", .7, AutogradDetail}
	backKept       = Label{"outlives its backward, no parameter size", weak, AutogradDetail}

	// The forward and user code.
	forwardScratch = Label{"made and freed within one forward", good, Temporary}
	forwardAlive   = Label{"made in a forward, still alive", good, Activation}
	forwardSaved   = Label{"made in a forward, freed in or after the backward", strong, Activation}
	freedByEngine  = Label{"freed by the autograd thread", likely, Activation}
	outsideScratch = Label{"made and freed outside modules", fair, Temporary}
	outsideAlone   = Label{"made and freed, and nothing shows a forward", .5, Temporary}
	afterForward   = Label{"made by user code after a forward began", probable, Activation}
	beforeForward  = Label{"made by user code before a forward", likely, Input}
	noForward      = Label{"made by user code, no forward followed", guess, Unknown}

	// Memory older than the history that kept its stack: a ring buffer lost the
	// events, the blocks have the frames.
	olderGrad      = Label{"pre-history: made on the autograd thread, size of a parameter", likely, Gradient}
	olderBackward  = Label{"pre-history: made on the autograd thread", .5, AutogradDetail}
	olderWorkspace = Label{"pre-history: cuBLAS size, alive all along", probable, Workspace}
	olderForward   = Label{"pre-history: made in a forward", fair, Activation}
	olderUser      = Label{"pre-history: made by user code", .5, Input}

	// Memory older than the history and without a stack, freed in it.
	olderFreedBackward = Label{"pre-history: freed in a backward", likely, Activation}
	olderFreedZero     = Label{"pre-history: freed by zero_grad", strong, Gradient}
	olderFreedSize     = Label{"pre-history: freed between steps, size of a parameter", .7, Gradient}
	olderFreed         = Label{"pre-history: freed in it", guess, Unknown}

	// The same, alive at the end.
	olderNoSizes     = Label{"pre-history: nothing tells", .2, Unknown}
	olderModel       = Label{"pre-history: laid out as a construction does, alive through every forward", weak, Parameter}
	olderSizeAlone   = Label{"pre-history: cuBLAS size, nothing else tells", weak, Workspace}
	olderOnly        = Label{"pre-history: one per parameter of its size", probable, Parameter}
	olderLaidOut     = Label{"pre-history: size of a parameter, laid out as a construction does", probable, Parameter}
	olderOneOf       = Label{"pre-history: one of several of a parameter's size", .55, Parameter}
	olderOneOfUnsure = Label{"pre-history: one of several of a parameter's size", guess, Unknown}
	olderState       = Label{"pre-history: size of a parameter, alive through every step", probable, OptimizerState}
	olderStateDouble = Label{"pre-history: twice the size of a parameter: fp32 state of half-precision parameters", probable, OptimizerState}
	olderCounter     = Label{"pre-history: step counter", .7, OptimizerState}
	olderCopy        = Label{"pre-history: a second copy of the parameters (moving average?)", weak, Parameter}
	olderSecond      = Label{"pre-history: kept gradient or optimizer state", guess, Unknown}
	olderExtra       = Label{"pre-history: one more of a parameter size than expected", guess, Unknown}
	olderLeak        = Label{"pre-history: of a size that the history still makes and keeps", guess, Unknown}
	olderFrozen      = Label{"pre-history: laid out with the parameters, no gradient of its size: frozen", weak, Parameter}
	olderFrozenOwn   = Label{"pre-history: no gradient of its size: frozen", .5, Parameter}
	olderSmall       = Label{"pre-history: alive, no gradient of its size", .5, Buffer}
	olderUnknown     = Label{"pre-history: alive all along, no gradient of its size", guess, Unknown}

	nothingKnown = Label{"nothing known", nothing, Unknown}
)

// at returns the label with another confidence.
func (l Label) at(confidence float32) Label {
	l.Confidence = confidence
	return l
}
