package com.example.exportmobile

import android.app.Activity
import android.os.Bundle
import android.widget.ArrayAdapter
import android.widget.Button
import android.widget.EditText
import android.widget.Spinner
import android.widget.TextView
import exportmobile.AssetFiles
import exportmobile.LiteRtEngine
import exportmobile.TextModel
import java.util.concurrent.ExecutorService
import java.util.concurrent.Executors

/** Runs every model in assets/models: labels of PRADO and BERT, tags of a tagger, and their self-test. */
class MainActivity : Activity() {
    // Models run here, not on the main thread; one thread, so that what was asked first is answered first.
    private val worker: ExecutorService = Executors.newSingleThreadExecutor()
    private val open = HashMap<String, TextModel>()

    override fun onCreate(savedInstanceState: Bundle?) {
        super.onCreate(savedInstanceState)
        setContentView(R.layout.activity_main)
        val models = findViewById<Spinner>(R.id.models)
        val text = findViewById<EditText>(R.id.text)
        val answer = findViewById<TextView>(R.id.answer)
        val names = assets.list(MODELS).orEmpty().sorted()
        if (names.isEmpty()) answer.setText(R.string.no_models)
        models.adapter = ArrayAdapter(this, android.R.layout.simple_spinner_dropdown_item, names)
        findViewById<Button>(R.id.run).setOnClickListener {
            val given = text.text.toString()
            show(answer, models.selectedItem) { model -> Answers.of(model, given) }
        }
        findViewById<Button>(R.id.self_test).setOnClickListener {
            show(answer, models.selectedItem) { model -> Answers.selfTest(model) }
        }
    }

    override fun onDestroy() {
        super.onDestroy()
        worker.execute { open.values.forEach { it.close() } }
        worker.shutdown()
    }

    private fun show(answer: TextView, name: Any?, ask: (TextModel) -> String) {
        if (name == null) return
        worker.execute {
            // What the library refuses, it explains in one line: that is what the user sees.
            val line =
                try {
                    val started = System.nanoTime()
                    val found = ask(model(name.toString()))
                    "$found\n\n${(System.nanoTime() - started) / 1_000_000} ms"
                } catch (refused: Exception) {
                    refused.message ?: refused.toString()
                }
            runOnUiThread { answer.text = line }
        }
    }

    private fun model(name: String): TextModel =
        open.getOrPut(name) { TextModel.open(AssetFiles(assets, "$MODELS/$name"), LiteRtEngine.threads(1)) }

    private companion object {
        const val MODELS = "models"
    }
}
