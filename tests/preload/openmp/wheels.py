"""wheels.py NAME...: prints what packages with OpenMP run-time libraries of their own compute. The text is
the same in every run."""
import ctypes
import hashlib
import pathlib
import sys
import tempfile

import numpy

THREADS = 4


def digest(values):
    return hashlib.sha256(numpy.ascontiguousarray(values, dtype=numpy.float64).tobytes()).hexdigest()[:16]


def data():
    random = numpy.random.default_rng(1)
    x = random.normal(size=(4000, 10))
    return x, x[:, 0] * 2 + numpy.sin(3 * x[:, 1]) + 0.1 * random.normal(size=len(x))


def sklearn():
    from sklearn.ensemble import HistGradientBoostingRegressor
    x, y = data()
    predicted = HistGradientBoostingRegressor(max_iter=4, random_state=0).fit(x, y).predict(x)
    return f"mean error {numpy.mean((predicted - y) ** 2):.6f}, {digest(predicted)}"


def system():
    """Loads the system's run-time library, which no package uses."""
    ctypes.CDLL("libgomp.so.1")
    return "loaded"


def ctranslate2():
    """Scores a language model of random weights; the test only checks that threads agree."""
    import ctranslate2
    from ctranslate2.specs import transformer_spec
    spec = transformer_spec.TransformerDecoderModelSpec.from_config(2, 4, pre_norm=True)
    random = numpy.random.default_rng(2)
    width, words, inner = 64, 40, 128

    def fill(layer, name, *shape):
        setattr(layer, name, random.normal(size=shape).astype(numpy.float32) / 8)

    def norm(layer):
        layer.gamma, layer.beta = numpy.ones(width, numpy.float32), numpy.zeros(width, numpy.float32)

    decoder = spec.decoder
    fill(decoder.embeddings, "weight", words, width)
    fill(decoder.position_encodings, "encodings", 64, width)
    decoder.scale_embeddings = False
    norm(decoder.layer_norm)
    fill(decoder.projection, "weight", words, width)
    decoder.projection.bias = numpy.zeros(words, numpy.float32)
    for layer in decoder.layer:
        norm(layer.self_attention.layer_norm)
        for part, rows in zip(layer.self_attention.linear, (3 * width, width)):
            fill(part, "weight", rows, width)
            part.bias = numpy.zeros(rows, numpy.float32)
        norm(layer.ffn.layer_norm)
        for part, rows, columns in ((layer.ffn.linear_0, inner, width), (layer.ffn.linear_1, width, inner)):
            fill(part, "weight", rows, columns)
            part.bias = numpy.zeros(rows, numpy.float32)
    spec.register_vocabulary(["<unk>", "<s>", "</s>"] + [f"w{i}" for i in range(words - 3)])
    spec.validate()
    with tempfile.TemporaryDirectory() as folder:
        spec.save(str(pathlib.Path(folder)))
        generator = ctranslate2.Generator(folder, device="cpu", intra_threads=THREADS)
        scored = generator.score_batch([[f"w{(i * k) % 37}" for i in range(30)] for k in range(1, 9)])
        return f"scores {digest([value for one in scored for value in one.log_probs])}"


for name in sys.argv[1:]:
    print(f"{name}: {globals()[name]()}", flush=True)
