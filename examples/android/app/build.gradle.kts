import javax.inject.Inject

plugins {
    alias(libs.plugins.android.application)
}

android {
    namespace = "com.example.exportmobile"
    compileSdk = 36

    defaultConfig {
        applicationId = "com.example.exportmobile"
        // What LiteRT 2.1 needs: Android 6.
        minSdk = 23
        targetSdk = 36
        versionCode = 1
        versionName = "1.0"
    }

    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_11
        targetCompatibility = JavaVersion.VERSION_11
    }

    androidResources {
        // Mapped into memory as they are.
        noCompress += "tflite"
    }
}

dependencies {
    implementation(project(":exportmobile"))
}

/** Copies what an app needs of export folders into assets/models/NAME. */
abstract class CopyModels
@Inject
constructor(private val operations: FileSystemOperations) : DefaultTask() {
    @get:InputFiles
    abstract val folders: ConfigurableFileCollection

    @get:OutputDirectory
    abstract val models: DirectoryProperty

    @TaskAction
    fun copy() {
        if (folders.isEmpty) {
            throw GradleException("copyModels needs export folders: -PexportFolder=DIR[,DIR]. Received: none.")
        }
        for (folder in folders) {
            if (!folder.resolve("examples.json").isFile) {
                throw GradleException("copyModels needs a folder that export-mobile wrote. Received: $folder.")
            }
            operations.sync {
                from(folder)
                include("bytes_*.tflite", "model_*.tflite", "labels.txt", "examples.json")
                include("model.json", "projection.json", "tokenizer.json")
                into(models.dir(folder.name))
            }
        }
    }
}

// ./gradlew copyModels -PexportFolder=../../out/prado,../../out/bert
tasks.register<CopyModels>("copyModels") {
    group = "export-mobile"
    description = "Copies export folders into the assets: -PexportFolder=DIR[,DIR]"
    val given = providers.gradleProperty("exportFolder").getOrElse("")
    folders.from(given.split(",").filter { it.isNotBlank() }.map { rootDir.resolve(it.trim()) })
    models = layout.projectDirectory.dir("src/main/assets/models")
}
