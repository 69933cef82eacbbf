package input

// Kind is what the content of a file is.
type Kind uint8

// What snapview reads comes first, then what people hand it by mistake.
const (
	Unknown           Kind = iota
	Pickle                 // a pickle of protocol 0 to 5; whether it is a snapshot only decoding tells
	SnapshotJSON           // a whole snapshot as a JSON object
	SegmentListJSON        // torch.cuda.memory_snapshot() as JSON; an empty list counts
	ChromeTrace            // torch.profiler's export_chrome_trace
	MemoryTimeline         // export_memory_timeline: [times, sizes]
	MemoryTimelineRaw      // export_memory_timeline: [[ns, action, bytes, category], …]
	StatsJSONL             // JSON with figures of memory: an object a line, or one that holds memory_stats()
	SMICSV                 // nvidia-smi --query-gpu … --format=csv, and its other tables
	MemorySummary          // the text of torch.cuda.memory_summary()
	TrainingLog            // text with figures of memory in it
	Text                   // other text; such figures may come later in it
	JSON                   // other JSON
	Checkpoint             // torch.save since 1.6
	LegacyCheckpoint       // torch.save before 1.6
	Safetensors
	NumPy
	NumPyZip
	Zip
	Tar
	SevenZip
	RAR
	XZ
	LZ4
	HTML
	XML
	GitLFS
	Python
	Parquet
	SQLite
	HDF5
	GGUF
	ELF
	PNG
	JPEG
	PDF
	Zeros
	numKinds
)

// kinds holds the name of each kind and the phrase for a message such as
// "x.pt: a torch checkpoint (zip), not a snapshot".
var kinds = [numKinds]struct{ name, phrase string }{
	Unknown:           {"unknown", "a file of unknown kind"},
	Pickle:            {"pickle", "a pickle"},
	SnapshotJSON:      {"snapshot-json", "a memory snapshot (JSON)"},
	SegmentListJSON:   {"segments-json", "a list of memory segments (JSON)"},
	ChromeTrace:       {"trace", "a profiler trace (JSON)"},
	MemoryTimeline:    {"memory-timeline", "a memory timeline (JSON)"},
	MemoryTimelineRaw: {"memory-timeline-raw", "a raw memory timeline (JSON)"},
	StatsJSONL:        {"stats-jsonl", "memory statistics (JSON)"},
	SMICSV:            {"smi-csv", "a table of GPU figures (nvidia-smi)"},
	MemorySummary:     {"memory-summary", "the text of torch.cuda.memory_summary()"},
	TrainingLog:       {"log", "a training log"},
	Text:              {"text", "a text file"},
	JSON:              {"json", "a JSON file of another layout"},
	Checkpoint:        {"checkpoint", "a torch checkpoint (zip)"},
	LegacyCheckpoint:  {"legacy-checkpoint", "a torch checkpoint (old-style pickle)"},
	Safetensors:       {"safetensors", "a safetensors checkpoint"},
	NumPy:             {"numpy", "a NumPy array"},
	NumPyZip:          {"numpy-zip", "a set of NumPy arrays (zip)"},
	Zip:               {"zip", "a zip archive: unpack it first"},
	Tar:               {"tar", "a tar archive: unpack it first"},
	SevenZip:          {"7z", "a 7-Zip archive: unpack it first"},
	RAR:               {"rar", "a RAR archive: unpack it first"},
	XZ:                {"xz", "an xz-compressed file: unpack it first with xz -d"},
	LZ4:               {"lz4", "an LZ4-compressed file: unpack it first with lz4 -d"},
	HTML:              {"html", "an HTML page: the download probably failed"},
	XML:               {"xml", "an XML document: the download probably failed"},
	GitLFS:            {"git-lfs", "a Git LFS pointer: run git lfs pull"},
	Python:            {"python", "Python source"},
	Parquet:           {"parquet", "a Parquet file"},
	SQLite:            {"sqlite", "an SQLite database"},
	HDF5:              {"hdf5", "an HDF5 file"},
	GGUF:              {"gguf", "a GGUF model"},
	ELF:               {"elf", "a program or library (ELF)"},
	PNG:               {"png", "a PNG image"},
	JPEG:              {"jpeg", "a JPEG image"},
	PDF:               {"pdf", "a PDF document"},
	Zeros:             {"zeros", "nothing but zero bytes: the copy or download did not finish"},
}

// String is a short name that stays the same, for JSON output and tests.
func (k Kind) String() string { return kinds[k.known()].name }

// Describe is a phrase with its article for messages: "a torch checkpoint (zip)".
func (k Kind) Describe() string { return kinds[k.known()].phrase }

func (k Kind) known() Kind {
	if k < numKinds {
		return k
	}
	return Unknown
}
