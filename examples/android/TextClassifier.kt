// A text classifier of export-mobile on the phone: the features-in .tflite file in the stock LiteRT
// runtime, the features from our C++ core. Assets: features_int8.tflite, projection.json, labels.txt.
package exportmobile

import android.content.Context
import java.nio.ByteBuffer
import java.nio.ByteOrder
import org.json.JSONObject
import org.tensorflow.lite.Interpreter

/** Texts to int8 features [1, max_seq_len, feature_size]; projection_jni.cc is the other side. */
class Projection(configText: String) : AutoCloseable {
    private var handle = create(configText.toByteArray())

    /** Fills [out], a direct buffer of exactly the features' size; gives the number of tokens. */
    fun project(text: String, out: ByteBuffer): Int {
        check(handle != 0L) { "This projection is closed." }
        return write(handle, text.toByteArray(), out)
    }

    override fun close() {
        free(handle)
        handle = 0
    }

    private external fun create(config: ByteArray): Long
    private external fun write(handle: Long, text: ByteArray, out: ByteBuffer): Int
    private external fun free(handle: Long)

    private companion object {
        init {
            System.loadLibrary("export_mobile_jni")
        }
    }
}

/** Not for several threads at once, except through [classify]. */
class TextClassifier(context: Context, model: String = "features_int8.tflite") : AutoCloseable {
    private val read = { name: String -> context.assets.open(name).use { it.readBytes() } }
    private val settings = JSONObject(read("projection.json").decodeToString())
    private val labels = read("labels.txt").decodeToString().lines().filter { it.isNotEmpty() }
    private val projection = Projection(settings.getString("config_text"))
    private val features = direct(settings.getInt("max_seq_len") * settings.getInt("feature_size"))
    private val logits = direct(labels.size)
    private val interpreter: Interpreter
    private val scale: Float
    private val zeroPoint: Int

    init {
        val bytes = read(model)
        val file = direct(bytes.size).apply { put(bytes).rewind() }
        interpreter = Interpreter(file, Interpreter.Options().setNumThreads(1))
        val output = interpreter.getOutputTensorFromSignature("logits", SIGNATURE).quantizationParams()
        scale = output.scale
        zeroPoint = output.zeroPoint
    }

    /** The label of [text] and its logit. */
    @Synchronized
    fun classify(text: String): Pair<String, Float> {
        projection.project(text, features)
        logits.rewind() // the interpreter writes from the buffer's position on
        interpreter.runSignature(mapOf("features" to features), mapOf("logits" to logits), SIGNATURE)
        val best = labels.indices.maxByOrNull { logits[it] }!!
        return labels[best] to scale * (logits[best] - zeroPoint)
    }

    override fun close() {
        interpreter.close()
        projection.close()
    }

    private companion object {
        const val SIGNATURE = "serving_default"

        fun direct(size: Int): ByteBuffer = ByteBuffer.allocateDirect(size).order(ByteOrder.nativeOrder())
    }
}
